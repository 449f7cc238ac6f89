// SPDX-License-Identifier: Apache-2.0
#include "shmem_job.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace shmem_test;

namespace {

/// What member `of` contributes as its element i.
template<class T>
T element_of(std::uint32_t of, std::size_t i) {
  return static_cast<T>(of * 7 + i % 11 + 1);
}

template<class T>
T expected(reduction how, std::uint32_t members, std::size_t i) {
  T all = element_of<T>(0, i);
  for (std::uint32_t m = 1; m < members; ++m) {
    T const v = element_of<T>(m, i);
    switch (how) {
    case reduction::sum:
      all = static_cast<T>(all + v);
      break;
    case reduction::product:
      all = static_cast<T>(all * v);
      break;
    case reduction::minimum:
      all = std::min(all, v);
      break;
    case reduction::maximum:
      all = std::max(all, v);
      break;
    default:
      if constexpr (std::integral<T>) {
        all = how == reduction::bit_and  ? static_cast<T>(all & v)
              : how == reduction::bit_or ? static_cast<T>(all | v)
                                         : static_cast<T>(all ^ v);
      }
    }
  }
  return all;
}

template<class T>
std::string reduces(node& n, shmem::team& t, reduction how, std::size_t count) {
  auto const source = n.malloc<T>(count);
  auto const dest = n.malloc<T>(count);
  QUARRY_OK(source);
  QUARRY_OK(dest);
  if (t.is_member()) {
    for (bool const in_place : {false, true}) {
      for (std::size_t i = 0; i < count; ++i)
        (*source)[i] = element_of<T>(t.index(), i);
      T* const to = in_place ? source->data() : dest->data();
      QUARRY_OK(t.reduce(how, to, source->data(), count));
      for (std::size_t i = 0; i < count; ++i)
        QUARRY_EXPECT(to[i] == expected<T>(how, t.size(), i));
    }
  }
  QUARRY_OK(n.free(source->data()));
  QUARRY_OK(n.free(dest->data()));
  return "";
}

/// Every other collective, again and again, without a barrier between.
std::string moves(node& n, shmem::team& t, std::size_t count) {
  auto const pes = n.pe_count();
  auto const source = n.malloc<std::uint32_t>(count * pes);
  auto const dest = n.malloc<std::uint32_t>(count * pes);
  QUARRY_OK(source);
  QUARRY_OK(dest);
  for (std::uint32_t round = 0; t.is_member() && round < 3; ++round) {
    auto const value = [&](std::uint32_t of, std::size_t i) {
      return static_cast<std::uint32_t>(of * 1'000'000 + i * 10 + round);
    };
    for (std::size_t i = 0; i < count * t.size(); ++i)
      (*source)[i] = value(t.index(), i);
    std::uint32_t const root = round % t.size();
    QUARRY_OK(t.broadcast(dest->data(), source->data(), count, root));
    for (std::size_t i = 0; i < count; ++i)
      QUARRY_EXPECT((*dest)[i] == value(root, i));
    QUARRY_OK(t.fcollect(dest->data(), source->data(), count));
    for (std::size_t i = 0; i < count * t.size(); ++i)
      QUARRY_EXPECT((*dest)[i] == value(static_cast<std::uint32_t>(i / count), i % count));
    QUARRY_OK(t.alltoall(dest->data(), source->data(), count));
    for (std::size_t i = 0; i < count * t.size(); ++i)
      QUARRY_EXPECT((*dest)[i] ==
                    value(static_cast<std::uint32_t>(i / count), t.index() * count + i % count));
    QUARRY_OK(t.sync());
  }
  QUARRY_OK(n.free(source->data()));
  QUARRY_OK(n.free(dest->data()));
  return "";
}

/// Each has as many as its place says, and one of them none.
std::string collects(node& n, shmem::team& t, std::size_t most) {
  auto const source = n.malloc<std::uint32_t>(most);
  auto const dest = n.calloc<std::uint32_t>(most * n.pe_count() + 1);
  QUARRY_OK(source);
  QUARRY_OK(dest);
  auto const count_of = [&](std::uint32_t member, std::uint32_t round) {
    return (member + round) % 3 == 0 ? 0 : most - (member + round) % most;
  };
  for (std::uint32_t round = 0; t.is_member() && round < 4; ++round) {
    auto const value = [&](std::uint32_t of, std::size_t i) {
      return static_cast<std::uint32_t>(of * 1'000'000 + i * 10 + round);
    };
    std::size_t const mine = count_of(t.index(), round);
    for (std::size_t i = 0; i < mine; ++i)
      (*source)[i] = value(t.index(), i);
    QUARRY_OK(t.collect(dest->data(), source->data(), mine));
    std::size_t at = 0;
    for (std::uint32_t member = 0; member < t.size(); ++member)
      for (std::size_t i = 0; i < count_of(member, round); ++i)
        QUARRY_EXPECT((*dest)[at++] == value(member, i));
    QUARRY_EXPECT(dest->back() == 0);
  }
  QUARRY_OK(n.free(source->data()));
  QUARRY_OK(n.free(dest->data()));
  return "";
}

constexpr reduction all_reductions[] = {reduction::sum,     reduction::product, reduction::minimum,
                                        reduction::maximum, reduction::bit_and, reduction::bit_or,
                                        reduction::bit_xor};

} // namespace

TEST_SUITE("net.shmem_team") {
  TEST_CASE("every reduction gives what a loop gives, of every type") {
    for (std::uint32_t const pes : sizes)
      on_all(pes, [](node& n) -> std::string {
        for (reduction const how : all_reductions) {
          if (auto wrong = reduces<std::uint64_t>(n, n.world(), how, 13); !wrong.empty())
            return wrong;
          if (auto wrong = reduces<std::int16_t>(n, n.world(), how, 5); !wrong.empty())
            return wrong;
          if (how < reduction::bit_and)
            if (auto wrong = reduces<double>(n, n.world(), how, 3); !wrong.empty())
              return wrong;
        }
        return "";
      });
  }

  TEST_CASE("long reductions go in parts, round a ring or where they are") {
    node::options o = small;
    o.heap_bytes = 2 * 1024 * 1024;
    o.team_bytes = 1024; // many rounds through the slots
    for (std::uint32_t const pes : {2U, 3U, 5U})
      on_all(
          pes,
          [](node& n) -> std::string {
            for (std::size_t const count : {127U, 513U, 1501U})
              if (auto wrong = reduces<std::uint32_t>(n, n.world(), reduction::sum, count);
                  !wrong.empty())
                return wrong;
            return "";
          },
          o, 1);
    for (maker const& make : {maker(in_process_ends), maker(loopback_ends)})
      all_well(run_native(make, 3, o, [](node& n) {
        return reduces<float>(n, n.world(), reduction::maximum, 100'003);
      }));
  }

  TEST_CASE("collect puts one after the other what members have, as much as each says") {
    for (std::uint32_t const pes : sizes) {
      on_all(pes, [](node& n) { return collects(n, n.world(), 5); }, small, 4);
      all_well(run_native(loopback_ends, pes, {.heap_bytes = 4 << 20},
                          [](node& n) { return collects(n, n.world(), 20'001); }));
    }
    on_all(3, [](node& n) -> std::string {
      auto team = n.world().split_strided(0, 2, 2);
      QUARRY_OK(team);
      return collects(n, *team, 3);
    });
    on_all(2, [](node& n) -> std::string { // what all have is too much, and all are told so
      std::size_t const half = small_heap / 2;
      auto const source = n.malloc<std::byte>(half);
      auto const dest = n.malloc<std::byte>(half);
      QUARRY_OK(source);
      QUARRY_OK(dest);
      auto const r = n.world().collect(dest->data(), source->data(), half);
      QUARRY_EXPECT(r.error().code == net_errc::outside_heap);
      QUARRY_EXPECT(r.error().what.find("65536 bytes of all members at offset 32768") !=
                    std::string::npos);
      QUARRY_EXPECT(!n.failure());
      return "";
    });
  }

  TEST_CASE("broadcast, fcollect and alltoall put everything where it belongs") {
    for (std::uint32_t const pes : sizes) {
      on_all(pes, [](node& n) { return moves(n, n.world(), 3); });
      all_well(run_native(loopback_ends, pes, {.heap_bytes = 4 << 20},
                          [](node& n) { return moves(n, n.world(), 30'001); }));
    }
  }

  TEST_CASE("members of a split team do the same among themselves, and the rest looks on") {
    for (std::uint32_t const pes : {3U, 8U})
      on_all(pes, [](node& n) -> std::string {
        for (int again = 0; again < 3; ++again) {
          std::uint32_t const odd = n.pe_count() / 2;
          auto t = n.world().split_strided(1, 2, odd);
          QUARRY_OK(t);
          QUARRY_EXPECT(t->is_member() == (n.self().id % 2 == 1));
          if (t->is_member()) {
            QUARRY_EXPECT(t->size() == odd);
            QUARRY_EXPECT(t->at(t->index()) == n.self());
          } else {
            QUARRY_EXPECT(t->size() == 0 && t->index() == 0);
          }
          if (auto wrong = moves(n, *t, 4); !wrong.empty())
            return wrong;
          if (auto wrong = reduces<std::uint64_t>(n, *t, reduction::sum, 20); !wrong.empty())
            return wrong;
          if (t->is_member()) {
            auto half = t->split_strided(0, 1, (odd + 1) / 2);
            QUARRY_OK(half);
            if (half->is_member()) {
              QUARRY_OK(half->sync());
              QUARRY_OK(half->destroy());
            }
            QUARRY_OK(t->destroy());
            QUARRY_EXPECT(!t->is_member());
          }
        }
        return "";
      });
  }

  TEST_CASE("there are as many teams as the options say; a destroyed one makes room") {
    node::options o = small;
    o.most_teams = 2;
    on_all(
        2,
        [](node& n) -> std::string {
          auto first = n.world().split_strided(0, 1, 2);
          QUARRY_OK(first);
          auto const second = n.world().split_strided(0, 1, 2);
          QUARRY_EXPECT(second.error().code == net_errc::heap_exhausted);
          QUARRY_OK(first->destroy());
          QUARRY_OK(n.world().split_strided(0, 1, 2));
          return "";
        },
        o);
  }

  TEST_CASE("a copy of a destroyed team is none either") {
    on_all(2, [](node& n) -> std::string {
      auto t = n.world().split_strided(0, 1, 2);
      QUARRY_OK(t);
      auto copy = *t;
      QUARRY_OK(t->destroy());
      auto const invalid = std::make_error_code(std::errc::invalid_argument);
      QUARRY_EXPECT(!copy.is_member());
      QUARRY_EXPECT(copy.sync().error().code == invalid);
      QUARRY_EXPECT(copy.destroy().error().code == invalid);
      auto next = n.world().split_strided(0, 1, 2); // which is not the copy's
      QUARRY_OK(next);
      QUARRY_EXPECT(copy.sync().error().code == invalid);
      QUARRY_OK(next->sync());
      return "";
    });
  }

  TEST_CASE("more elements than can be counted are refused, and only that call") {
    on_all(2, [](node& n) -> std::string {
      auto const some = n.malloc<double>(4);
      QUARRY_OK(some);
      double* const at = some->data();
      for (std::size_t const count : {std::size_t{1} << 61, (std::size_t{1} << 63) + 1}) {
        QUARRY_EXPECT(n.world().reduce(reduction::sum, at, at, count).has_error());
        QUARRY_EXPECT(n.world().alltoall(at, at, count).has_error());
        QUARRY_EXPECT(n.world().fcollect(at, at, count).has_error());
        QUARRY_EXPECT(n.world().broadcast(at, at, count, 0).has_error());
      }
      QUARRY_OK(n.barrier_all());
      QUARRY_OK(n.free(at));
      return "";
    });
  }

  TEST_CASE("what is no team, root or operation is refused, and only that call") {
    on_all(2, [](node& n) -> std::string {
      auto const word = n.malloc<float>(4);
      QUARRY_OK(word);
      auto const invalid = std::make_error_code(std::errc::invalid_argument);
      auto& w = n.world();
      auto const beyond = w.split_strided(0, 1, 3);
      QUARRY_EXPECT(beyond.error().code == invalid);
      QUARRY_EXPECT(beyond.error().what.ends_with("up to member 1"));
      QUARRY_EXPECT(w.split_strided(2, 1, 1).error().code == invalid);
      QUARRY_EXPECT(w.split_strided(0, 0, 2).error().code == invalid);
      QUARRY_EXPECT(w.split_strided(0, 1, 0).error().code == invalid);
      QUARRY_EXPECT(w.destroy().error().code == invalid);
      auto const root = w.broadcast(word->data(), word->data(), 1, 2);
      QUARRY_EXPECT(root.error().code == invalid);
      QUARRY_EXPECT(root.error().what.ends_with("allowed are 0 to 1"));
      auto const bits = w.reduce(reduction::bit_or, word->data(), word->data(), 1);
      QUARRY_EXPECT(bits.error().code == invalid);
      auto* const whole = reinterpret_cast<std::uint32_t*>(word->data());
      auto const none = w.reduce(static_cast<reduction>(42), whole, whole, 1);
      QUARRY_EXPECT(none.error().code == invalid);
      QUARRY_EXPECT(none.error().what == "shmem: reduce: there is no reduction 42");
      auto const partly = w.reduce(reduction::sum, word->data() + 1, word->data(), 2);
      QUARRY_EXPECT(partly.error().code == invalid);
      QUARRY_EXPECT(partly.error().what ==
                    "shmem: reduce: dest and source overlap; allowed are the same place, or two "
                    "apart");
      QUARRY_OK(w.reduce(reduction::sum, word->data() + 2, word->data(), 2));
      QUARRY_OK(w.reduce(reduction::sum, word->data(), word->data(), 2));
      auto const in_place = w.alltoall(word->data(), word->data(), 1);
      QUARRY_EXPECT(in_place.error().code == invalid);
      QUARRY_EXPECT(in_place.error().what.ends_with("alltoall: dest and source overlap; they must "
                                                    "be apart"));
      float mine = 0;
      auto const outside = w.fcollect(word->data(), &mine, 1);
      QUARRY_EXPECT(outside.error().code == net_errc::outside_heap);
      QUARRY_OK(n.barrier_all());
      return "";
    });
  }
}

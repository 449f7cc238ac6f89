// SPDX-License-Identifier: Apache-2.0
// What the work-items of an item kernel do together, as a coroutine and as a plain function.
#include "agents.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

constexpr std::uint32_t items = 200, per_group = 100; // a partial last wavefront

/// What a work-item has got, of everybody and of every other one.
struct answers {
  std::uint32_t any_last, any_none, all_here, all_but_one, broadcast, nobody_sends, among_odd;
  std::uint32_t reduced, before, is_leader, shuffled, from_first, leads_the_odd;
  std::uint64_t ballot;
  bool operator==(answers const&) const = default;
};

/// The lane from which a work-item gets: the next one below, the lowest its own.
int source_of(std::uint32_t lane) {
  return lane == 0 ? 0 : static_cast<int>(lane) - 1;
}

struct meet_in_coroutines {
  task<> operator()(any_work_item auto& wi, global<answers> out, std::uint32_t size) const {
    std::uint32_t const i = wi.local_linear_id(), lane = i % size;
    answers a{};
    a.any_last = co_await wi.group_any(i == per_group - 1) ? 1 : 0;
    a.any_none = co_await wi.group_any(i > per_group) ? 1 : 0;
    a.all_here = co_await wi.group_all(i < per_group) ? 1 : 0;
    a.all_but_one = co_await wi.group_all(i != 5) ? 1 : 0;
    a.broadcast = co_await wi.group_broadcast(10 * i, i == 37 || i == 35);
    a.nobody_sends = co_await wi.group_broadcast(10 * i, false);
    a.reduced = co_await wi.wavefront_reduce(i, maximum{});
    a.before = co_await wi.wavefront_prefix_sum(i);
    a.is_leader = co_await wi.elect_leader() ? 1 : 0;
    a.shuffled = co_await wi.wavefront_shuffle(i, source_of(lane));
    a.from_first = co_await wi.wavefront_shuffle(i, 0);
    lane_mask const every_third = co_await wi.ballot(i % 3 == 0);
    a.ballot = every_third.bits();
    if (i % 2 == 1) {
      a.among_odd = co_await wi.group_all(i % 2 == 1) ? 1 : 0;
      a.among_odd += co_await wi.group_any(i == 4) ? 2 : 0; // which is not here
      a.leads_the_odd = co_await wi.elect_leader() ? 1 : 0;
    }
    wi.store(out + wi.global_id(), a);
  }
};
struct meet_in_functions {
  void operator()(any_plain_work_item auto& wi, global<answers> out, std::uint32_t size) const {
    std::uint32_t const i = wi.local_linear_id(), lane = i % size;
    answers a{};
    a.any_last = wi.group_any(i == per_group - 1) ? 1 : 0;
    a.any_none = wi.group_any(i > per_group) ? 1 : 0;
    a.all_here = wi.group_all(i < per_group) ? 1 : 0;
    a.all_but_one = wi.group_all(i != 5) ? 1 : 0;
    a.broadcast = wi.group_broadcast(10 * i, i == 37 || i == 35);
    a.nobody_sends = wi.group_broadcast(10 * i, false);
    a.reduced = wi.wavefront_reduce(i, maximum{});
    a.before = wi.wavefront_prefix_sum(i);
    a.is_leader = wi.elect_leader() ? 1 : 0;
    a.shuffled = wi.wavefront_shuffle(i, source_of(lane));
    a.from_first = wi.wavefront_shuffle(i, 0);
    a.ballot = wi.ballot(i % 3 == 0).bits();
    if (i % 2 == 1) {
      a.among_odd = wi.group_all(i % 2 == 1) ? 1 : 0;
      a.among_odd += wi.group_any(i == 4) ? 2 : 0;
      a.leads_the_odd = wi.elect_leader() ? 1 : 0;
    }
    wi.store(out + wi.global_id(), a);
  }
};

answers expected(std::uint32_t i, std::uint32_t size) {
  std::uint32_t const first = i / size * size;
  std::uint32_t const last = std::min(first + size, per_group) - 1;
  answers a{.any_last = 1,
            .any_none = 0,
            .all_here = 1,
            .all_but_one = 0,
            .broadcast = 370,
            .nobody_sends = 0,
            .among_odd = i % 2,
            .reduced = last,
            .before = 0,
            .is_leader = i == last ? 1U : 0U,
            .shuffled = std::max(first + 1, i) - 1,
            .from_first = first,
            .leads_the_odd = i == (last % 2 == 1 ? last : last - 1) ? 1U : 0U,
            .ballot = 0};
  for (std::uint32_t other = first; other <= last; ++other) {
    a.before += other < i ? other : 0;
    a.ballot |= std::uint64_t{other % 3 == 0 ? 1U : 0U} << (other - first);
  }
  return a;
}

template<class Kernel>
void answer(Kernel kernel) {
  with_every_agent([&](agent& gpu) {
    std::uint32_t const size = gpu.core().shape().wavefront_size;
    auto out = gpu.allocate<answers>(items, "answers");
    succeed(gpu.run({.work_items = items, .work_items_per_group = per_group}, kernel, out.global(),
                    size));
    for (std::uint32_t i = 0; i < items; ++i) {
      CAPTURE(i);
      REQUIRE(out.host()[i] == expected(i % per_group, size));
    }
  });
}

/// At one line, since it is a helper, and in divergent code: sums of some work-items, the greatest
/// of others, sums of another type of the rest.
template<class W, class T, class Op>
task<T> reduced(W& wi, T value, Op op) {
  co_return co_await wi.group_reduce(value, op);
}
template<class W, class T>
task<T> sent(W& wi, T value, bool is_source) {
  co_return co_await wi.group_broadcast(value, is_source);
}
struct meet_by_helpers {
  /// Which lane comes first differs between wavefronts.
  static std::uint32_t part_of(std::uint32_t i, std::uint32_t size) { return (i + i / size) % 3; }
  task<> operator()(any_work_item auto& wi, global<float> out, std::uint32_t size) const {
    std::uint32_t const i = wi.local_linear_id();
    float got = 0;
    if (part_of(i, size) == 0) {
      auto sum = reduced(wi, std::uint32_t{1}, plus{});
      got = static_cast<float>(co_await std::move(sum));
    } else if (part_of(i, size) == 1) {
      auto most = reduced(wi, i, maximum{});
      got = static_cast<float>(co_await std::move(most));
    } else {
      auto sum = reduced(wi, 0.5F, plus{});
      got = co_await std::move(sum);
    }
    if (part_of(i, size) == 0) {
      auto word = sent(wi, i, true);
      static_cast<void>(co_await std::move(word));
    } else {
      auto number = sent(wi, 2.5F, true);
      got += co_await std::move(number);
    }
    wi.store(out + wi.global_id(), got);
  }
};

/// Lane 3 is not there.
struct shuffle_from_the_absent {
  task<> operator()(any_work_item auto& wi, global<int> out) const {
    if (wi.local_linear_id() != 3)
      wi.store(out + wi.global_id(), co_await wi.wavefront_shuffle(1, 3));
  }
};
struct shuffle_from_nowhere {
  void operator()(any_plain_work_item auto& wi, global<int> out) const {
    wi.store(out + wi.global_id(), wi.wavefront_shuffle(1, 64));
  }
};

/// An operator with state.
struct plus_modulo {
  int modulus = 7;
  template<class T>
  [[nodiscard]] static constexpr T identity() {
    return T{0};
  }
  int operator()(int a, int b) const { return (a + b) % modulus; }
};

struct reduce_modulo_in_coroutines {
  task<> operator()(any_work_item auto& wi, global<int> out) const {
    int const i = static_cast<int>(wi.global_id());
    wi.store(out + 2 * i, co_await wi.group_reduce(i, plus_modulo{13}));
    wi.store(out + (2 * i + 1), co_await wi.wavefront_reduce(i, plus_modulo{13}));
  }
};
struct reduce_modulo_in_functions {
  void operator()(any_plain_work_item auto& wi, global<int> out) const {
    int const i = static_cast<int>(wi.global_id());
    wi.store(out + 2 * i, wi.group_reduce(i, plus_modulo{13}));
    wi.store(out + (2 * i + 1), wi.wavefront_reduce(i, plus_modulo{13}));
  }
};

} // namespace

TEST_SUITE("emu.item_collectives") {
  TEST_CASE("each is over the work-items that are at the same line: coroutines") {
    answer(meet_in_coroutines{});
  }
  TEST_CASE("each is over the work-items that are at the same line: plain functions") {
    answer(meet_in_functions{});
  }

  TEST_CASE("at one line those meet that have the same type and operation, of all wavefronts") {
    with_every_agent([](agent& gpu) {
      std::uint32_t const size = gpu.core().shape().wavefront_size;
      auto out = gpu.allocate<float>(items, "out");
      succeed(gpu.run({.work_items = items, .work_items_per_group = per_group}, meet_by_helpers{},
                      out.global(), size));
      float count = 0, most = 0, halves = 0;
      for (std::uint32_t i = 0; i < per_group; ++i)
        switch (meet_by_helpers::part_of(i, size)) {
        case 0:
          ++count;
          break;
        case 1:
          most = static_cast<float>(i);
          break;
        default:
          halves += 0.5F;
        }
      for (std::uint32_t i = 0; i < items; ++i) {
        CAPTURE(i);
        std::uint32_t const part = meet_by_helpers::part_of(i % per_group, size);
        CHECK(out.host()[i] == (part == 0 ? count : part == 1 ? most + 2.5F : halves + 2.5F));
      }
    });
  }

  TEST_CASE("a shuffle from a work-item that is not there is a fault") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<int>(32, "out");
      launch_config const one{.work_items = 32, .work_items_per_group = 32};
      CHECK(contains(fail_with(gpu.run(one, shuffle_from_the_absent{}, out.global()),
                               fault::kind::wrong_shape),
                     "a shuffle by lane 0 from lane 3, which has not come to it"));
      CHECK(contains(
          fail_with(gpu.run(one, shuffle_from_nowhere{}, out.global()), fault::kind::wrong_shape),
          "a shuffle by lane 0 from lane 64, which has not come to it"));
    });
  }

  TEST_CASE("an operator's state is the one that the work-items gave it") {
    with_every_agent([](agent& gpu) {
      std::uint32_t const size = gpu.core().shape().wavefront_size;
      auto const answer = [&](auto kernel) {
        auto out = gpu.allocate<int>(2 * std::size_t{per_group}, "out");
        succeed(gpu.run({.work_items = per_group, .work_items_per_group = per_group}, kernel,
                        out.global()));
        auto const sum = [](std::uint32_t first, std::uint32_t end) {
          int s = 0;
          for (std::uint32_t i = first; i < std::min(end, per_group); ++i)
            s = (s + static_cast<int>(i)) % 13;
          return s;
        };
        for (std::uint32_t i = 0; i < per_group; ++i) {
          CAPTURE(i);
          std::uint32_t const first = i / size * size;
          CHECK(out.host()[2 * i] == sum(0, per_group));
          CHECK(out.host()[2 * i + 1] == sum(first, first + size));
        }
      };
      answer(reduce_modulo_in_coroutines{});
      answer(reduce_modulo_in_functions{});
    });
  }
}

// SPDX-License-Identifier: Apache-2.0
// Calls that have nothing to do, or that cannot be done.
#include "shmem_job.hpp"

#include <cstdint>
#include <latch>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace shmem_test;

namespace {

constexpr std::uint32_t each = 4;
constexpr auto in_place_says = "they must be apart, or source its own place in dest";

std::uint32_t value_of(std::uint32_t member, std::size_t i) {
  return member * 100 + static_cast<std::uint32_t>(i);
}

/// Everybody's `each` elements from all places of the heap from which that can be.
std::string fcollects_from_allowed_places(node& n, std::uint32_t* d) {
  std::size_t const all = std::size_t{each} * n.pe_count();
  for (std::uint32_t* const from : {d + all, d - each, d + n.self().id * each}) {
    for (std::uint32_t i = 0; i < each; ++i)
      from[i] = value_of(n.self().id, i);
    QUARRY_OK(n.world().fcollect(d, from, each));
    for (std::size_t i = 0; i < all; ++i)
      QUARRY_EXPECT(d[i] == value_of(static_cast<std::uint32_t>(i / each), i % each));
    QUARRY_OK(n.world().sync());
  }
  return "";
}

/// Member i has i elements.
std::string collects_from_own_places(node& n, std::uint32_t* d) {
  std::uint32_t const me = n.self().id;
  std::uint32_t* const own = d + me * (me - 1) / 2;
  for (std::uint32_t i = 0; i < me; ++i)
    own[i] = value_of(me, i);
  QUARRY_OK(n.world().collect(d, me == 0 ? d + 1 : own, me)); // none are anywhere
  for (std::uint32_t member = 0, at = 0; member < n.pe_count(); ++member)
    for (std::uint32_t i = 0; i < member; ++i)
      QUARRY_EXPECT(d[at++] == value_of(member, i));
  return "";
}

/// Each is told by a collect of `count` elements that pe `whose` has an overlap.
std::string collect_blames(node& n, std::uint32_t* d, std::uint32_t const* from, std::size_t count,
                           std::string const& whose) {
  auto const r = n.world().collect(d, from, count);
  QUARRY_EXPECT(r.has_error());
  QUARRY_EXPECT(r.error().code == std::make_error_code(std::errc::invalid_argument));
  QUARRY_EXPECT(r.error().what ==
                "shmem: collect: dest and source of " + whose + " overlap; " + in_place_says);
  return "";
}

} // namespace

TEST_SUITE("net.shmem_refusals") {
  TEST_CASE("nothing to wait for is waited for at once; operations that do not exist") {
    on_all(2, [](node& n) -> std::string {
      auto const words = n.malloc<std::uint64_t>(2);
      QUARRY_OK(words);
      std::span<std::uint64_t const> const none;
      auto const any = n.wait_until_any(none, comparison::equal, 1);
      QUARRY_OK(any);
      QUARRY_EXPECT(!any->has_value());
      auto const some = n.wait_until_some(none, comparison::equal, 1);
      QUARRY_OK(some);
      QUARRY_EXPECT(some->empty());
      QUARRY_OK(n.wait_until_all(none, comparison::equal, 1));
      auto const unknown = static_cast<comparison>(6);
      std::span<std::uint64_t const> const two = *words;
      std::uint64_t const* const first = two.data();
      QUARRY_EXPECT(n.wait_until(first, unknown, 1).error().what ==
                    "shmem: wait_until: a word is compared by ==, !=, >, >=, < or <=; there is no "
                    "comparison 6");
      QUARRY_EXPECT(n.wait_until_all(two, unknown, 1).has_error());
      QUARRY_EXPECT(n.wait_until_all(none, unknown, 1).has_error());
      QUARRY_EXPECT(n.wait_until_any(two, unknown, 1).has_error());
      QUARRY_EXPECT(n.wait_until_some(two, unknown, 1).has_error());
      QUARRY_EXPECT(n.signal_wait_until(first, unknown, 1).has_error());
      QUARRY_EXPECT(n.test(first, unknown, 1).has_error());
      QUARRY_EXPECT(n.test_all(two, unknown, 1).has_error());
      QUARRY_EXPECT(n.test_any(two, unknown, 1).has_error());
      QUARRY_EXPECT(n.test_some(two, unknown, 1).has_error());
      auto const how = static_cast<signal_op>(9);
      std::uint64_t* const w = words->data();
      std::uint64_t const source[1] = {7};
      auto const invalid = std::make_error_code(std::errc::invalid_argument);
      QUARRY_EXPECT(n.default_context()
                        .put_signal(w, std::span(source), w + 1, 1, how, right_of(n))
                        .error()
                        .code == invalid);
      QUARRY_OK(n.barrier_all());
      return "";
    });
  }

  TEST_CASE("fcollect refuses a source in its destination, unless that is its own place there") {
    on_all(3, [](node& n) -> std::string {
      auto const words = n.calloc<std::uint32_t>(20);
      QUARRY_OK(words);
      std::uint32_t* const d = words->data() + each;
      for (std::uint32_t const* const from : {d - 1, d + 1, d + 2 * each + 1, d + 3 * each - 1}) {
        auto const r = n.world().fcollect(d, from, each);
        QUARRY_EXPECT(r.has_error());
        QUARRY_EXPECT(r.error().code == std::make_error_code(std::errc::invalid_argument));
        QUARRY_EXPECT(r.error().what ==
                      std::string("shmem: fcollect: dest and source overlap; ") + in_place_says);
      }
      if (n.self() != pe{0}) // where everybody's are, the others' places are not this one's
        QUARRY_EXPECT(n.world().fcollect(d, d, each).has_error());
      QUARRY_OK(n.world().fcollect(d, d + 1, 0));
      return fcollects_from_allowed_places(n, d);
    });
  }

  TEST_CASE(
      "of an overlap of one member's source all who collect are told, and only of that call") {
    on_all(3, [](node& n) -> std::string {
      auto const words = n.calloc<std::uint32_t>(20);
      QUARRY_OK(words);
      std::uint32_t* const d = words->data() + each;
      // All at dest: it is the place of pe 0.
      if (auto wrong = collect_blames(n, d, d, 2, "pe 1"); !wrong.empty())
        return wrong;
      // Its own place if nobody had anything before it.
      if (auto wrong = collect_blames(n, d, d, n.self().id, "pe 2"); !wrong.empty())
        return wrong;
      // The others are apart, it begins before dest or ends behind it.
      for (std::uint32_t* const from : {d - 1, d + 5})
        if (auto wrong = collect_blames(n, d, n.self() == pe{0} ? from : d + 8, 2, "pe 0");
            !wrong.empty())
          return wrong;
      for (std::uint32_t const word : *words)
        QUARRY_EXPECT(word == 0);
      return collects_from_own_places(n, d);
    });
  }

  TEST_CASE("whatever is called after finish() is refused, and nothing is lost in silence") {
    on_all(2, [](node& n) -> std::string {
      auto const words = n.malloc<std::uint64_t>(2);
      QUARRY_OK(words);
      std::uint64_t* const w = words->data();
      auto& c = n.default_context();
      pe const right = right_of(n);
      QUARRY_OK(n.finish());
      QUARRY_EXPECT(!n.failure());
      net_errc const over = net_errc::already_finished;
      QUARRY_EXPECT(c.p(w, 1, right).error().code == over);
      QUARRY_EXPECT(c.g(w, right).error().code == over);
      QUARRY_EXPECT(c.p(w, 1, n.self()).error().code == over);
      QUARRY_EXPECT(c.atomic_fetch_inc(w, right).error().code == over);
      QUARRY_EXPECT(c.put_nbi(w, std::span<std::uint64_t const>(w, 1), right).error().code == over);
      QUARRY_EXPECT(c.quiet().error().code == over);
      QUARRY_EXPECT(n.wait_until(w, comparison::equal, 0).error().code == over);
      QUARRY_EXPECT(n.test(w, comparison::equal, 0).error().code == over);
      QUARRY_EXPECT(n.malloc<int>(1).error().code == over);
      QUARRY_EXPECT(n.free(w).error().code == over);
      QUARRY_EXPECT(n.make_context().error().code == over);
      QUARRY_EXPECT(n.world().reduce(reduction::sum, w, w, 1).error().code == over);
      QUARRY_EXPECT(n.world().split_strided(0, 1, 1).error().code == over);
      auto const barrier = n.barrier_all();
      QUARRY_EXPECT(barrier.error().code == over);
      QUARRY_EXPECT(barrier.error().what ==
                    "shmem: barrier_all: finish() has ended this pe's part in the job");
      QUARRY_EXPECT(n.finish().error().code == over);
      return "";
    });
  }

  TEST_CASE("the caller's mistakes are refused with the numbers, and change nothing") {
    on_all(2, [](node& n) -> std::string {
      auto& c = n.default_context();
      auto const words = n.malloc<std::uint64_t>(8);
      QUARRY_OK(words);
      std::uint64_t* const w = words->data();
      std::uint64_t mine[4] = {1, 2, 3, 4};
      pe const other{1 - n.self().id};
      QUARRY_SAYS(c.put(mine, mine, other), net_errc::outside_heap, {"put of 32 bytes"});
      QUARRY_SAYS(c.put(w, {w, 8193}, other), net_errc::outside_heap,
                  {"put of 65544 bytes", "at offset 0 of the symmetric heap, which ends 65536 on"});
      QUARRY_SAYS(c.p(w, 1, pe{2}), net_errc::no_such_pe, {"shmem: p", "pe 2", "there are 2"});
      QUARRY_SAYS(c.put_nbi({small_heap - 8}, std::as_bytes(std::span(mine)), other),
                  net_errc::outside_heap, {"put_nbi of 32 bytes", "65528", "65536"});
      QUARRY_SAYS(c.put_nbi({~std::uint64_t{0}}, std::as_bytes(std::span(mine)), other),
                  net_errc::outside_heap, {"put_nbi"});
      QUARRY_SAYS(c.get(mine, &mine[0], other), net_errc::outside_heap, {"get"});
      QUARRY_SAYS(c.p(mine, 1, other), net_errc::outside_heap, {"shmem: p of 8 bytes"});
      QUARRY_SAYS(c.g(mine, other), net_errc::outside_heap, {"shmem: g of 8 bytes"});
      QUARRY_SAYS(c.get_nbi(std::as_writable_bytes(std::span(mine)), {small_heap}, other),
                  net_errc::outside_heap, {"get_nbi"});
      QUARRY_SAYS(c.atomic_nbi(shmem::atomic_op::add, {4}, 1, 0, nullptr, other),
                  net_errc::misaligned, {"atomic_nbi of 8 bytes at offset 4"});
      QUARRY_SAYS(c.atomic_inc(mine, other), net_errc::outside_heap, {"atomic"});
      QUARRY_EXPECT(
          c.atomic_nbi(shmem::atomic_op::add, {0}, 1, 0, nullptr, other, 2).error().code ==
          std::errc::invalid_argument);
      QUARRY_SAYS(c.put_signal(w, mine, mine, 1, signal_op::set, other), net_errc::outside_heap,
                  {"put_signal"});
      QUARRY_SAYS(c.put_signal_nbi({0}, {}, {12}, 1, signal_op::set, other), net_errc::misaligned,
                  {"put_signal_nbi"});
      QUARRY_SAYS(n.wait_until(mine, comparison::equal, 9), net_errc::outside_heap,
                  {"wait_until", "not in the symmetric heap"});
      QUARRY_SAYS(n.signal_wait_until(mine, comparison::equal, 9), net_errc::outside_heap,
                  {"shmem: signal_wait_until of 8 bytes"});
      // Of several words none is waited for where another one is elsewhere.
      QUARRY_SAYS(n.wait_until_all(std::span<std::uint64_t const>(w, 8193), comparison::equal, 9),
                  net_errc::outside_heap, {"shmem: wait_until_all of 65544 bytes"});
      QUARRY_SAYS(n.test(mine, comparison::equal, 9), net_errc::outside_heap, {"test"});
      QUARRY_SAYS(
          n.signal_fetch(reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(w) + 4)),
          net_errc::misaligned, {"signal_fetch"});
      QUARRY_SAYS(n.free(mine), net_errc::outside_heap, {"free"});
      QUARRY_SAYS(n.free(w + 1), net_errc::outside_heap, {"free", "offset 8"});
      QUARRY_SAYS(n.address_of(mine), net_errc::outside_heap, {"address_of"});
      QUARRY_EXPECT(n.local({small_heap + 1}) == nullptr);
      QUARRY_EXPECT(!n.failure());
      QUARRY_OK(c.put(w, {}, other));
      QUARRY_OK(n.barrier_all());
      QUARRY_OK(n.free(w));
      QUARRY_SAYS(n.free(w), net_errc::outside_heap, {"given back already"});
      return "";
    });
  }

  TEST_CASE("elements that are combined lie where they can be read") {
    on_all(2, [](node& n) -> std::string {
      auto const words = n.malloc<std::uint64_t>(4);
      QUARRY_OK(words);
      auto* const w = words->data();
      auto* const off = reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(w) + 4);
      QUARRY_SAYS(n.world().reduce(reduction::sum, off, w + 2, 1), net_errc::misaligned,
                  {"reduce at offset 4, which is not a multiple of 8"});
      QUARRY_SAYS(n.world().reduce(reduction::sum, w, off, 1), net_errc::misaligned, {"offset 4"});
      QUARRY_OK(n.barrier_all());
      return "";
    });
  }

  TEST_CASE("of two threads of a pe in collectives of one team one is sent away") {
    for (auto const& make : {in_process_ends, loopback_ends}) {
      std::latch is_refused(1);
      all_well(run_native(make, 2, small, [&](node& n) -> std::string {
        if (n.self() == pe{1}) {
          is_refused.wait();
          QUARRY_OK(n.barrier_all());
          return "";
        }
        result<void> ended[2];
        {
          std::vector<std::jthread> both;
          for (auto& mine : ended)
            both.emplace_back([&] {
              mine = n.barrier_all();
              if (!mine)
                is_refused.count_down();
            });
        }
        auto const& refused = ended[0] ? ended[1] : ended[0];
        QUARRY_OK(ended[0] ? ended[0] : ended[1]);
        QUARRY_EXPECT(refused.has_error());
        QUARRY_EXPECT(refused.error().code ==
                      std::make_error_code(std::errc::device_or_resource_busy));
        QUARRY_EXPECT(refused.error().what.starts_with(
            "shmem: barrier_all: another thread of pe 0 is in a collective of the same team"));
        return "";
      }));
    }
  }

  TEST_CASE("options outside their limits are refused with them") {
    native_scheduler scheduler({.threads = 1});
    auto const start = [&](node::options const& o) {
      auto all = in_process_ends(1);
      static_cast<void>(node::start(scheduler, std::move(all[0]), o));
    };
    CHECK_THROWS_AS(start({.heap_bytes = 0}), std::invalid_argument);
    CHECK_THROWS_AS(start({.heap_bytes = std::size_t{1} << 47}), std::invalid_argument);
    CHECK_THROWS_AS(start({.timeout = 0ms}), std::invalid_argument);
    CHECK_THROWS_AS(start({.most_teams = 0}), std::invalid_argument);
    CHECK_THROWS_AS(start({.most_teams = 65}), std::invalid_argument);
    CHECK_THROWS_AS(start({.team_bytes = 255}), std::invalid_argument);
    CHECK_THROWS_WITH_AS(static_cast<void>(node::start(scheduler, nullptr, {})),
                         "shmem: no transport; has it been moved from?", std::invalid_argument);
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "agents.hpp"
#include "test_agents.hpp"

#include <quarry/emu/cilk.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fibonacci/kernel.hpp>
#include <fibonacci/reference.hpp>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

constexpr machine shape{.compute_units = 2, .wavefront_size = 64};
constexpr traversal both_orders[] = {traversal::help_first, traversal::hybrid};
using fib = fibonacci::call;

/// Spawns twice: the second time as many as the first ones have returned together.
struct two_rounds {
  using result = std::uint32_t;
  static constexpr std::uint32_t most_spawned = 8;
  static constexpr std::uint32_t syncs = 2;
  std::uint32_t depth;

  void operator()(auto& self) const {
    if (depth == 0)
      return self.returns(1);
    for (int i = 0; i < 3; ++i)
      self.spawn({depth - 1});
  }
  void after_sync(auto& self, first_sync) const {
    std::uint32_t const sum = self[0] + self[1] + self[2];
    for (std::uint32_t i = 0; i < sum % 5 + 1; ++i)
      self.spawn({depth - 1});
  }
  void after_sync(auto& self, second_sync) const {
    std::uint32_t sum = 100;
    for (std::uint32_t i = 0; i < self.children(); ++i)
      sum += self[i];
    self.returns(sum);
  }
};
std::uint32_t two_rounds_serially(std::uint32_t depth) {
  if (depth == 0)
    return 1;
  std::uint32_t const one = two_rounds_serially(depth - 1);
  return 100 + (3 * one % 5 + 1) * one;
}

/// Leaves its mark in memory, and returns nothing; a sync would have nothing to do.
struct mark {
  using result = no_result;
  static constexpr std::uint32_t most_spawned = 2;
  static constexpr std::uint32_t syncs = 0;
  global<std::uint32_t> at;
  std::uint32_t count;

  void operator()(auto& self) const {
    if (count == 1)
      return self.memory().store(at, 7);
    self.spawn({at, count / 2});
    self.spawn({at + count / 2, count - count / 2});
  }
};

/// The same, but an odd count goes on after its children, and says so.
struct odd_goes_on {
  using result = no_result;
  static constexpr std::uint32_t most_spawned = 2;
  global<std::uint32_t> at;
  global<std::uint32_t> went_on;
  std::uint32_t count;

  void operator()(auto& self) const {
    if (count == 1)
      return self.memory().store(at, 7);
    self.spawn({at, went_on, count / 2});
    self.spawn({at + count / 2, went_on, count - count / 2});
    if (count % 2 == 0)
      self.finishes();
  }
  void after_sync(auto& self, first_sync) const {
    self.memory().fetch_add(went_on, 1, order::relaxed, scope::agent);
  }
  [[nodiscard]] static std::uint32_t that_go_on(std::uint32_t n) {
    return n == 1 ? 0 : n % 2 + that_go_on(n / 2) + that_go_on(n - n / 2);
  }
};

/// Parts of up to 3 words are marked by their wavefront, a lane each.
struct mark_in_lanes {
  using result = no_result;
  static constexpr std::uint32_t most_spawned = 2;
  static constexpr std::uint32_t syncs = 0;
  global<std::uint32_t> words;
  global<std::uint32_t> waves; ///< that have run leaves
  std::uint32_t from;
  std::uint32_t count;

  [[nodiscard]] bool is_leaf() const { return count <= 3; }
  void operator()(auto& self) const {
    if (is_leaf()) // it does not come here
      return self.memory().store(words + from, 1000);
    self.spawn({words, waves, from, count / 2});
    self.spawn({words, waves, from + count / 2, count - count / 2});
  }
  static void run_leaves(any_wavefront auto& wf, std::span<mark_in_lanes const> calls) {
    using numbers = typename std::remove_reference_t<decltype(wf)>::template lanes<std::int32_t>;
    numbers from(0), count(0);
    for (std::size_t lane = 0; lane != calls.size(); ++lane) {
      from.set(static_cast<int>(lane), static_cast<std::int32_t>(calls[lane].from));
      count.set(static_cast<int>(lane), static_cast<std::int32_t>(calls[lane].count));
    }
    for (std::int32_t i = 0; i < 3; ++i)
      if (auto const there = wf.where(count > i)) {
        auto const at = calls.front().words + (from + i);
        wf.store(at, wf.load(at) + 1U);
      }
    wf.fetch_add(calls.front().waves, 1, order::relaxed, scope::agent);
  }
};

/// Three syncs, and up to 100 children: more than a wavefront of 32 lanes has room for twice.
struct shoots {
  using result = std::uint64_t;
  static constexpr std::uint32_t most_spawned = 100;
  static constexpr std::uint32_t syncs = 3;
  std::uint32_t depth;
  std::uint32_t seed;

  [[nodiscard]] std::uint32_t count(std::uint32_t part) const noexcept {
    std::uint32_t const h = (seed * 2654435761U + part * 40503U) >> 7U;
    return depth == 0 ? 0 : h % 16 == 0 ? 100 - h % 3 : h % 4;
  }
  [[nodiscard]] shoots child(std::uint32_t part, std::uint32_t i) const noexcept {
    return {depth - 1, seed * 31 + part * 101 + i};
  }
  template<std::uint32_t Part>
  void go_on(auto& self, std::uint64_t sum) const {
    for (std::uint32_t i = 0; i < self.children(); ++i)
      sum = sum * 3 + self[i];
    if (Part == syncs || count(Part) == 0)
      return self.returns(sum + seed);
    for (std::uint32_t i = 0; i < count(Part); ++i)
      self.spawn(child(Part, i));
  }
  void operator()(auto& self) const { go_on<0>(self, 0); }
  void after_sync(auto& self, first_sync) const { go_on<1>(self, 1); }
  void after_sync(auto& self, second_sync) const { go_on<2>(self, 2); }
  void after_sync(auto& self, sync_number<3>) const { go_on<3>(self, 3); }

  [[nodiscard]] std::uint64_t serially() const {
    std::uint64_t sum = 0;
    for (std::uint32_t part = 0; part < syncs && count(part) != 0; ++part) {
      sum = part + 1;
      for (std::uint32_t i = 0; i < count(part); ++i)
        sum = sum * 3 + child(part, i).serially();
    }
    return sum + seed;
  }
};

} // namespace

TEST_SUITE("emu.cilk") {
  TEST_CASE("Fibonacci, in wide channels and in channels in which every generation must yield") {
    with_schedulers([](executor& s) {
      for (auto const order : both_orders)
        for (std::uint32_t const width : {4096U, 128U, 4U}) {
          constexpr std::uint32_t n = 18;
          CAPTURE(width);
          wide_agent gpu(s, {.compute_units = 2, .wavefront_slots = 3, .wavefront_size = 64});
          cilk<fib, wide_targets> program(gpu, {.depth = fib::depth(n),
                                                .width = width,
                                                .elements_per_done_count = width == 4 ? 1U : 64U,
                                                .order = order});
          REQUIRE(program.run(fib{n}));
          CHECK(program.root_result() == fibonacci::number(n));
          flow_counts const done = program.totals();
          std::uint64_t const parts = fibonacci::calls(n) + fibonacci::number(n) - 1;
          if (order == traversal::help_first)
            CHECK(done.elements == parts);
          else // most calls never see a channel
            CHECK(done.elements < parts * 3 / 4);
          if (width == 4 && order == traversal::help_first) // the other does without
            CHECK(done.yields > 50);
          if (width == 4096)
            CHECK(done.yields == 0);
          if (s.decides()) {
            CHECK(done.channels.most <= width);
            CHECK(program.counts().spawning == fibonacci::number(n) - 1);
            CHECK(program.counts().leaves == parts - program.counts().spawning);
            CHECK(program.counts().waves >= parts / 64);
          }
        }
    });
  }

  TEST_CASE("again on the same channels; a narrow one where wavefronts wait in their slots") {
    sequential_scheduler s;
    wide_agent gpu(s, shape);
    cilk<fib, wide_targets> program(gpu, {.depth = 12, .width = 256, .full = when_full::wait});
    for (std::uint32_t const n : {1U, 2U, 13U, 7U}) {
      REQUIRE(program.run(fib{n}));
      CHECK(program.root_result() == fibonacci::number(n));
    }
    CHECK(program.totals().yields == 0);
  }

  TEST_CASE(
      "each lane for itself: the same answer, with as many reservations as calls that spawn") {
    sequential_scheduler s;
    wide_agent gpu(s, shape);
    auto const reservations = [&](channel_reservation how) {
      cilk<fib, wide_targets> program(gpu, {.depth = 14, .width = 1024, .reservation = how});
      REQUIRE(program.run(fib{15}));
      CHECK(program.root_result() == fibonacci::number(15));
      return program.totals().channels.reservations;
    };
    // The children of each that spawns, and that one itself.
    CHECK(reservations(channel_reservation::per_work_item) == 2 * (fibonacci::number(15) - 1));
    CHECK(reservations(channel_reservation::per_wavefront) < 150);
  }

  TEST_CASE("a function that syncs twice, and one that never does") {
    with_schedulers([](executor& s) {
      for (auto const& [width, order] :
           {std::pair(1024U, traversal::help_first), std::pair(8U, traversal::help_first),
            std::pair(8U, traversal::hybrid)}) {
        wide_agent gpu(s, shape);
        cilk_options const o{
            .depth = 8, .width = width, .elements_per_done_count = 1, .order = order};
        cilk<two_rounds, wide_targets> rounds(gpu, o);
        REQUIRE(rounds.run(two_rounds{4}));
        CHECK(rounds.root_result() == two_rounds_serially(4));
        auto marks = gpu.allocate<std::uint32_t>(100);
        cilk<mark, wide_targets> marking(gpu, o);
        REQUIRE(marking.run(mark{marks.global(), 100}));
        for (std::uint32_t const m : marks.host())
          REQUIRE(m == 7);
      }
    });
  }

  TEST_CASE("a call that finishes with its children is not called again") {
    with_schedulers([](executor& s) {
      constexpr std::uint32_t count = 300;
      for (auto const& [width, order] :
           {std::pair(1024U, traversal::help_first), std::pair(4U, traversal::help_first),
            std::pair(4U, traversal::hybrid)}) {
        wide_agent gpu(s, {.compute_units = 2, .wavefront_slots = 2, .wavefront_size = 64});
        auto marks = gpu.allocate<std::uint32_t>(count + 1, "marks");
        cilk<odd_goes_on, wide_targets> program(gpu,
                                                {.depth = 10,
                                                 .width = width,
                                                 .elements_per_done_count = width == 4 ? 1U : 64U,
                                                 .order = order});
        REQUIRE(program.run({marks.global(), marks.global() + count, count}));
        for (std::uint32_t i = 0; i < count; ++i)
          CHECK(marks.host()[i] == 7);
        std::uint32_t const go_on = odd_goes_on::that_go_on(count);
        CHECK(marks.host()[count] == go_on);
        if (order == traversal::help_first)
          CHECK(program.totals().elements == 2 * count - 1 + go_on); // no element for the others
        if (s.decides())
          CHECK(program.counts().spawning + program.counts().leaves == 2 * count - 1 + go_on);
      }
    });
  }

  TEST_CASE("leaves that a function runs many at a time: each once, in a lane of its own") {
    with_schedulers([](executor& s) {
      for (auto const& [width, order] :
           {std::pair(4096U, traversal::help_first), std::pair(128U, traversal::help_first),
            std::pair(128U, traversal::hybrid), std::pair(4U, traversal::hybrid)})
        for (std::uint32_t const count : {1U, 3U, 4U, 7U, 1000U}) {
          CAPTURE(width);
          CAPTURE(count);
          wide_agent gpu(s, shape);
          cilk<mark_in_lanes, wide_targets> program(
              gpu, {.depth = 12,
                    .width = width,
                    .elements_per_done_count = width == 4 ? 1U : 64U,
                    .order = order});
          auto words = gpu.allocate<std::uint32_t>(count, "words");
          auto waves = gpu.allocate<std::uint32_t>(1, "waves");
          REQUIRE(program.run({words.global(), waves.global(), 0, count}));
          CHECK(std::ranges::count(words.host(), 1U) == count);
          CHECK(waves.host()[0] >= 1);
          if (count == 1000 && s.decides() && width != 4) { // 488 leaves, all at one level
            CHECK(program.counts().leaves >= count / 3);
            CHECK(waves.host()[0] <= program.counts().leaves / 32);
          }
        }
    });
  }

  TEST_CASE("many children and syncs, on wavefronts of 32 lanes, whoever reserves") {
    with_schedulers([](executor& s) {
      for (auto const order : both_orders)
        for (auto const how :
             {channel_reservation::per_wavefront, channel_reservation::per_work_item})
          for (std::uint32_t const width : {4096U, 128U}) {
            CAPTURE(width);
            agent gpu(s, {.compute_units = 2, .wavefront_slots = 2, .wavefront_size = 32});
            cilk<shoots> program(gpu, {.depth = 6,
                                       .width = width,
                                       .elements_per_done_count = 1,
                                       .reservation = how,
                                       .order = order});
            for (std::uint32_t const seed : {1U, 2U, 3U, 4U}) {
              shoots const root{3, seed};
              outcome const end = program.run(root);
              REQUIRE_MESSAGE(end, end.get_fault()->report);
              CHECK(program.root_result() == root.serially());
            }
          }
    });
  }
}

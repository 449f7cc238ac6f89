// SPDX-License-Identifier: Apache-2.0
// What the kernel of one level leaves in the channels of its level and of the deeper one; whole
// recursions are in the suite cilk.
#include "agents.hpp"
#include "test_agents.hpp"

#include <quarry/emu/channel_graph.hpp>
#include <quarry/emu/cilk_kernel.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

/// Spawns `count` calls, numbered from 100 times its own number on, and waits for them.
struct waits {
  using result = std::uint32_t;
  static constexpr std::uint32_t most_spawned = 4;
  std::uint32_t number;
  std::uint32_t count;

  void operator()(auto& self) const {
    for (std::uint32_t i = 0; i < count; ++i)
      self.spawn({number * 100 + i, 0});
    if (count == 0)
      self.returns(number);
  }
  void after_sync(auto& self, first_sync) const { self.returns(self[0]); }
};

/// The same, but an odd one finishes with its children.
struct finishes_if_odd {
  using result = no_result;
  static constexpr std::uint32_t most_spawned = 4;
  std::uint32_t number;
  std::uint32_t count;

  void operator()(auto& self) const {
    for (std::uint32_t i = 0; i < count; ++i)
      self.spawn({number * 100 + i, 0});
    if (number % 2 != 0)
      self.finishes();
  }
  void after_sync(auto&, first_sync) const {}
};

/// Even ones are leaves.
struct has_even_leaves {
  using result = no_result;
  static constexpr std::uint32_t most_spawned = 1;
  static constexpr std::uint32_t syncs = 0;
  std::uint32_t number;
  std::vector<std::vector<std::uint32_t>>* ran; ///< on one thread

  [[nodiscard]] bool is_leaf() const { return number % 2 == 0; }
  void operator()(auto& self) const { self.spawn({number - 1, ran}); }
  static void run_leaves(any_wavefront auto&, std::span<has_even_leaves const> calls) {
    std::vector<std::uint32_t> numbers;
    for (has_even_leaves const& c : calls)
      numbers.push_back(c.number);
    calls.front().ran->push_back(numbers);
  }
};

/// What comes out of a channel, by whichever wavefront; on one thread.
template<class T>
struct arrivals {
  std::vector<T> all;
};

/// A call after its sync, and where its children write.
template<class F>
struct arrived_sync {
  typename cilk_parts<F>::spawned call;
  std::uint32_t count;
  typename cilk_parts<F>::result* results;
};

struct note_calls {
  template<any_wavefront W, class T>
  task<> operator()(W& wf, auto& elements, arrivals<T>& into) const {
    wf.active().for_each([&](int lane) { into.all.push_back(wf.load(elements.at(lane))); });
    co_return;
  }
};
struct note_syncs {
  template<any_wavefront W, class F>
  task<> operator()(W& wf, auto& elements, arrivals<arrived_sync<F>>& into) const {
    wf.active().for_each([&](int lane) {
      auto* const e = elements.at(lane).get();
      into.all.push_back(
          {wf.load(global(&e->call)), wf.load(global(&e->count)), e->results.data()});
    });
    co_return;
  }
};

struct level_shape {
  std::uint32_t width = 256; ///< of the deeper level, and of what waits
  bool has_deeper = true;
  bool is_one_at_a_time = false;
};

/// One level: what it leaves for the deeper one, and what waits for its first sync.
template<class F>
struct level_run {
  using spawned = typename cilk_parts<F>::spawned;
  arrivals<spawned> deeper;
  arrivals<arrived_sync<F>> synced;
  std::vector<typename F::result> results; ///< of the calls
  cilk_counts counts;
  std::uint64_t reservations = 0; ///< in all channels; not of the host
  outcome end;

  level_run(executor& s, std::vector<F> const& calls, level_shape const& shape = {}) {
    wide_agent gpu(s, {.compute_units = 2, .wavefront_size = 64});
    auto places = gpu.template allocate<typename F::result>(calls.size(), "results");
    channel_graph g(gpu);
    auto& here = g.template add_channel<spawned>({.width = 1024, .name = "calls"});
    auto& below = g.template add_channel<spawned>(
        {.width = shape.width, .elements_per_done_count = 1, .name = "deeper"});
    cilk_level<F> level;
    level.spawned = &here;
    level.deeper = shape.has_deeper ? &below : nullptr;
    level.levels = shape.has_deeper ? 2 : 1;
    level.is_one_at_a_time = shape.is_one_at_a_time;
    level.counts = &counts;
    if constexpr (cilk_parts<F>::syncs != 0) {
      auto& waiting = g.template add_channel<typename cilk_parts<F>::synced>(
          {.width = shape.width, .elements_per_done_count = 1, .name = "sync 1"});
      level.synced[0] = &waiting;
      g.connect(waiting, note_syncs{}, std::ref(synced));
    }
    g.connect(below, note_calls{}, std::ref(deeper));
    g.connect(here, cilk_kernel<F, 0>{}, std::ref(level));
    for (std::uint32_t i = 0; i < calls.size(); ++i)
      g.put(here, {calls[i], places.global() + i});
    g.execute();
    end = g.wait_for_done();
    reservations = g.totals().channels.reservations;
    results.assign(places.host().begin(), places.host().end());
  }

  [[nodiscard]] std::vector<std::uint32_t> numbers() const {
    std::vector<std::uint32_t> all;
    for (spawned const& c : deeper.all)
      all.push_back(c.function.number);
    std::sort(all.begin(), all.end());
    return all;
  }
};

/// As `run` should have left them: the calls' children, each with its place in its call's results.
template<class F>
void check_children(level_run<F> const& run, std::vector<F> const& calls) {
  for (F const& f : calls) {
    CAPTURE(f.number);
    auto const sync =
        std::find_if(run.synced.all.begin(), run.synced.all.end(),
                     [&](auto const& s) { return s.call.function.number == f.number; });
    REQUIRE((sync != run.synced.all.end()) == (f.count != 0));
    for (auto const& c : run.deeper.all)
      if (f.count != 0 && c.function.number / 100 == f.number) {
        CHECK(sync->count == f.count);
        CHECK(c.into.get() == sync->results + c.function.number % 100);
      }
  }
}

using numbers = std::vector<std::uint32_t>;

} // namespace

TEST_SUITE("emu.cilk_kernel") {
  TEST_CASE("children get places for their results, one after the other, in what waits for them") {
    with_schedulers(
        [](executor& s) {
          std::vector<waits> const calls{{1, 4}, {2, 0}, {3, 1}, {4, 2}};
          level_run<waits> const run(s, calls);
          succeed(run.end);
          CHECK(run.numbers() == numbers{100, 101, 102, 103, 300, 400, 401});
          CHECK(run.synced.all.size() == 3); // nobody waits for nothing
          check_children(run, calls);
        },
        1, 3);
  }

  TEST_CASE("a call that spawns nothing has ended with what it returns") {
    with_schedulers(
        [](executor& s) {
          level_run<waits> const run(s, {{7, 0}, {8, 0}, {9, 0}}, {.has_deeper = false});
          succeed(run.end);
          CHECK(run.results == numbers{7, 8, 9});
          CHECK(run.deeper.all.empty());
          CHECK(run.synced.all.empty());
        },
        1, 1);
  }

  TEST_CASE("nobody waits for the children of a call that finishes, and they have no place") {
    with_schedulers(
        [](executor& s) {
          level_run<finishes_if_odd> const run(s, {{1, 2}, {2, 2}});
          succeed(run.end);
          CHECK(run.numbers() == numbers{100, 101, 200, 201});
          REQUIRE(run.synced.all.size() == 1);
          CHECK(run.synced.all[0].call.function.number == 2);
          for (auto const& c : run.deeper.all)
            CHECK(static_cast<bool>(c.into) == (c.function.number >= 200));
        },
        1, 1);
  }

  TEST_CASE("a wavefront reserves once for all that its lanes spawn, or once for each of them") {
    std::vector<waits> calls;
    for (std::uint32_t i = 1; i <= 64; ++i)
      calls.push_back({i, i % 2}); // 32 children
    sequential_scheduler s;
    for (bool const alone : {false, true}) {
      level_run<waits> const run(s, calls, {.is_one_at_a_time = alone});
      succeed(run.end);
      CHECK(run.deeper.all.size() == 32);
      check_children(run, calls);
      CHECK(run.reservations == (alone ? 2 * 32 : 2));
    }
  }

  TEST_CASE("more than goes into the channels at once goes in pieces, and none is lost") {
    constexpr std::uint32_t width = 8;
    std::vector<waits> calls;
    numbers children;
    for (std::uint32_t i = 1; i <= 64; ++i) {
      calls.push_back({i, i % 5});
      for (std::uint32_t c = 0; c < i % 5; ++c)
        children.push_back(i * 100 + c);
    }
    with_schedulers(
        [&](executor& s) {
          level_run<waits> const run(s, calls, {.width = width});
          succeed(run.end);
          CHECK(run.numbers() == children);
          check_children(run, calls);
          if (s.decides())
            CHECK(run.reservations > children.size() / width);
        },
        1, 3);
  }

  TEST_CASE("lanes that spawn and lanes that do not are counted, where a scheduler decides") {
    sequential_scheduler s;
    level_run<waits> const run(s, {{1, 4}, {2, 0}, {3, 1}});
    CHECK(run.counts.spawning == 2);
    CHECK(run.counts.leaves == 1);
    CHECK(run.counts.waves == 1);
    CHECK(run.counts.diverged == 1);
    native_scheduler native({.threads = 1, .stall_timeout = patience});
    CHECK(level_run<waits>(native, {{1, 4}, {2, 0}}).counts.waves == 0);
  }

  TEST_CASE("leaves run together, once a wavefront, and come to no channel") {
    with_schedulers(
        [](executor& s) {
          std::vector<std::vector<std::uint32_t>> ran;
          level_run<has_even_leaves> const run(s, {{4, &ran}, {5, &ran}, {6, &ran}, {9, &ran}});
          succeed(run.end);
          CHECK(ran == std::vector<std::vector<std::uint32_t>>{{4, 6}});
          CHECK(run.numbers() == numbers{4, 8});
          ran.clear();
          succeed(level_run<has_even_leaves>(s, {{5, &ran}}).end);
          CHECK(ran.empty()); // not called for nothing
        },
        1, 1);
  }

  TEST_CASE("who spawns at the last level is told how many there are") {
    with_schedulers(
        [](executor& s) {
          level_run<waits> const run(s, {{1, 0}, {2, 1}}, {.has_deeper = false});
          CHECK_SAYS(fail_with(run.end, fault::kind::wrong_shape),
                     "the recursion is deeper than its 1 levels");
        },
        1, 1);
  }

  TEST_CASE("a level names the channels that its kernels produce for, and no others") {
    allocations known;
    channel<cilk_parts<waits>::spawned> here(known, {.width = 64}), below(known, {.width = 64});
    channel<cilk_parts<waits>::synced> waiting(known, {.width = 64});
    cilk_level<waits> level;
    level.spawned = &here; // its kernel consumes it
    auto const named = [&] {
      std::vector<void const*> all;
      level.each_channel([&](void const* c) { all.push_back(c); });
      return all;
    };
    CHECK(named().empty());
    level.synced[0] = &waiting;
    CHECK(named() == std::vector<void const*>{&waiting}); // the last level
    level.deeper = &below;
    CHECK(named() == std::vector<void const*>{&below, &waiting});
  }
}

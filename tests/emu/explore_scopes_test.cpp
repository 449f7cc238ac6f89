// SPDX-License-Identifier: Apache-2.0
// Stores of too narrow a scope, and who sees them none the less.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>

namespace {

using namespace quarry;
using namespace quarry::emu;

using word = std::uint32_t;

bool is_set(word v) {
  return v != 0;
}

struct put_behind_a_flag {
  order how;
  scope far;
  void operator()(any_wavefront auto& wf, global<word> data, global<word> flag) const {
    wf.store(data, 7);
    wf.store(flag, 1, how, far);
  }
};

/// A host waits for a kernel's flag, and looks at what is behind it.
verdict wait_for_kernel(order how, scope far, explore_options options) {
  options.detects_races = false;
  options.shrinks = options.diagnoses = false;
  return explore(options, [=](world& w) {
    agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
    auto words = gpu.allocate<word>(32, "words");
    auto const data = words.global(), flag = words.global() + 16;
    w.start_task("host", [=, &w](world_core& self) -> task<> {
      static_cast<void>(co_await self.wait_until(flag, is_set, order::acquire, scope::system));
      w.check(self.load(data) == 7, "the old data");
    });
    static_cast<void>(gpu.run({.work_items = 1}, put_behind_a_flag{how, far}, data, flag));
    w.join();
  });
}

/// Group 0 publishes to its own compute unit alone; what group 1 has seen, and then of the data.
struct hand_to_own_unit {
  void operator()(any_wavefront auto& wf, global<word> data, global<word> flag,
                  global<word> seen) const {
    constexpr scope unit = scope::work_group;
    if (wf.linear_group_id() == 0) {
      wf.store(data, 7, order::relaxed, unit);
      wf.store(flag, 1, order::release, unit);
    } else if (wf.load(flag, order::acquire, unit) == 1) {
      wf.store(seen, 1 + wf.load(data, order::relaxed, unit));
    }
  }
};

/// Message passing without an acquire. The reader has acquired the data's old value before: what
/// its caches held of it they have forgotten, but may have fetched again.
struct pass_without_acquire {
  void operator()(any_wavefront auto& wf, global<word> data, global<word> flag, global<word> seen,
                  scope far) const {
    if (wf.linear_group_id() == 0) {
      wf.store(data, 1, order::relaxed, far);
      wf.fence(order::release, far);
      wf.store(flag, 1, order::relaxed, far);
    } else {
      auto const first = wf.load(data, order::acquire, far);
      auto const is_there = wf.load(flag, order::relaxed, far);
      auto const last = wf.load(data, order::relaxed, far);
      wf.store(seen, 4 * first + 2 * is_there + last);
    }
  }
};

} // namespace

TEST_SUITE("emu.explore_scopes") {
  TEST_CASE("a wait may end early, by a flag of too narrow a scope that gets out by itself") {
    for (char const* const strategy : {"exhaustive", "swarm", "random_walk", "pct"})
      for (order const how : {order::relaxed, order::release})
        for (scope const far : {scope::work_group, scope::agent}) {
          CAPTURE(strategy);
          verdict const v = wait_for_kernel(how, far, {.strategy = strategy});
          REQUIRE_MESSAGE(v.failure, v.to_string());
          CHECK(v.failure->kind == "check");
        }
    for (bool const reduces : {false, true}) {
      verdict const right = wait_for_kernel(order::release, scope::system,
                                            {.strategy = "exhaustive", .reduces = reduces});
      CHECK_MESSAGE(right.is_complete, right.to_string());
      verdict const wrong = wait_for_kernel(order::release, scope::agent,
                                            {.strategy = "exhaustive", .reduces = reduces});
      CHECK_MESSAGE(wrong.failure, wrong.to_string());
    }
  }

  TEST_CASE("nobody is let go by it for sure: where it never gets out, that is a deadlock") {
    verdict const v = explore(
        {.strategy = "exhaustive", .detects_races = false, .diagnoses = false}, [](world& w) {
          agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
          auto words = gpu.allocate<word>(32, "words");
          auto const flag = words.global(), end = words.global() + 16;
          w.start_task("host", [=](world_core& self) -> task<> {
            static_cast<void>(
                co_await self.wait_until(flag, is_set, order::acquire, scope::system));
            self.store(end, 1, order::release, scope::system);
          });
          auto const hold = [](any_wavefront auto& wf, global<word> at,
                               global<word> until) -> task<> {
            wf.store(at, 1, order::release, scope::agent);
            static_cast<void>(co_await wf.wait_until(until, is_set, order::acquire, scope::system));
          };
          static_cast<void>(gpu.run({.work_items = 1}, hold, flag, end));
          w.join();
        });
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK(v.failure->kind == "deadlock");
  }

  TEST_CASE("groups of a launch are on different compute units, in turn") {
    auto const hand = [](machine const& shape) {
      std::set<word> seen;
      verdict const v = explore({.strategy = "exhaustive", .detects_races = false}, [&](world& w) {
        agent gpu(w.scheduler(), shape);
        auto words = gpu.allocate<word>(48, "words");
        auto const data = words.global();
        static_cast<void>(gpu.run({.work_groups = 2, .work_items_per_group = 32},
                                  hand_to_own_unit{}, data, data + 16, data + 32));
        seen.insert(w.host().load(data + 32));
      });
      CHECK(v.is_complete);
      return seen;
    };
    CHECK(hand({.compute_units = 1, .wavefront_size = 32}) == std::set<word>{0, 8});
    CHECK(hand({.compute_units = 2, .wavefront_size = 32}) == std::set<word>{0, 1, 8});
  }

  TEST_CASE("what an acquire has seen may be fetched again after it, from any cache") {
    for (std::uint32_t const units : {1U, 2U})
      for (scope const far : {scope::agent, scope::system}) {
        CAPTURE(units);
        std::set<word> seen;
        verdict const v = explore(
            {.executions = 100'000, .strategy = "exhaustive", .detects_races = false},
            [&](world& w) {
              explored_agent gpu(w.scheduler(), {.compute_units = units, .wavefront_size = 32});
              auto words = gpu.allocate<word>(64, "words");
              auto const data = words.global();
              static_cast<void>(gpu.run({.work_groups = 2, .work_items_per_group = 32},
                                        pass_without_acquire{}, data, data + 16, data + 32, far));
              seen.insert(w.host().load(data + 32));
            });
        CHECK_MESSAGE(v.is_complete, v.to_string());
        // It saw the flag, and yet the old data; never older data than before.
        CHECK(seen == std::set<word>{0, 1, 2, 3, 5, 7});
      }
  }
}

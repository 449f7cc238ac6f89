// SPDX-License-Identifier: Apache-2.0
// Worlds in which somebody goes on for ever without an operation.
#include "agents.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/event.hpp>
#include <quarry/yield.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>

namespace {

using namespace quarry;
using namespace quarry::emu;
using quarry_test::contains;

task<> yield_for_ever(world_core&) {
  for (;;)
    co_await yield();
}

struct yields_for_ever {
  task<> operator()(any_wavefront auto&) const {
    for (;;)
      co_await yield();
  }
};

/// Two that only wake each other, and so are never both ready.
void play_catch(world& w) {
  event ball[2];
  for (std::size_t const i : {0U, 1U})
    w.start_task(i == 0 ? "one" : "other", [&ball, i](world_core&) -> task<> {
      for (;;) {
        ball[i].reset();
        ball[1 - i].set();
        co_await ball[i].wait();
      }
    });
  w.join();
}

verdict explore_livelock(std::function<void(world&)> const& f, std::string strategy = "swarm") {
  return explore({.executions = 20,
                  .strategy = std::move(strategy),
                  .most_decisions = 200,
                  .diagnoses = false,
                  .keeps_failures = false},
                 f);
}

} // namespace

TEST_SUITE("emu.explore_livelocks") {
  TEST_CASE("who only yields, for ever and alone, is a livelock that names it") {
    for (char const* const strategy : {"swarm", "random_walk", "pct", "boring", "exhaustive"}) {
      CAPTURE(strategy);
      verdict const v = explore_livelock(
          [](world& w) {
            w.start_task("ann", yield_for_ever);
            w.join();
          },
          strategy);
      REQUIRE_MESSAGE(v.failure, v.to_string());
      CHECK(v.failure->kind == "livelock");
      CHECK_SAYS(v.failure->report, "busiest: ann (without an operation)\n");
      CHECK(v.failure->is_repeatable);
    }
  }

  TEST_CASE("so are two, and a wavefront") {
    verdict const two = explore_livelock([](world& w) {
      w.start_task("ann", yield_for_ever);
      w.start_task("bob", yield_for_ever);
      w.join();
    });
    REQUIRE_MESSAGE(two.failure, two.to_string());
    CHECK(two.failure->kind == "livelock");
    CHECK_SAYS(two.failure->report, "busiest: ann, bob (without an operation)\n");
    verdict const wave = explore_livelock([](world& w) {
      explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
      static_cast<void>(gpu.run({.work_items = 32, .work_items_per_group = 32}, yields_for_ever{}));
    });
    REQUIRE_MESSAGE(wave.failure, wave.to_string());
    CHECK(wave.failure->kind == "livelock");
    CHECK_SAYS(wave.failure->report, "busiest: wave 1:1:1:1 (0,0,0)/0 (without an operation)\n");
  }

  TEST_CASE("who yields beside one that polls memory is named with it") {
    verdict const v = explore_livelock([](world& w) {
      auto flag = w.allocate<std::uint32_t>(1, "flag");
      w.start("polls", [&](world_core& self) {
        while (self.load(flag.global(), order::acquire, scope::system) == 0) {
        }
      });
      w.start_task("yields", yield_for_ever);
      w.join();
    });
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK(v.failure->kind == "livelock");
    CHECK_SAYS(v.failure->report, "busiest: polls at explore_livelocks_test.cpp:");
    CHECK_SAYS(v.failure->report, " operations), yields (without an operation)\n");
  }

  TEST_CASE("two that wake each other for ever, one ready at a time, come to the limit") {
    verdict const v = explore_livelock(play_catch);
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK(v.failure->kind == "livelock");
  }

  TEST_CASE("who yields until somebody has done something comes to its end") {
    verdict const v = explore_livelock([](world& w) {
      event done;
      w.start_task("ann", [&](world_core&) -> task<> {
        while (!done.is_set())
          co_await yield();
      });
      w.start_task("bob", [&](world_core&) -> task<> {
        for (int i = 0; i < 40; ++i)
          co_await yield();
        done.set();
      });
      w.join();
    });
    CHECK_MESSAGE(v, v.to_string());
    CHECK(v.inconclusive == 0);
  }

  TEST_CASE("who is alone, and yields often, but not for ever, is no livelock") {
    verdict const v = explore_livelock([](world& w) {
      auto word = w.allocate<std::uint32_t>(1, "word");
      w.start_task("ann", [&](world_core& self) -> task<> {
        for (std::uint32_t i = 0; i < 120; ++i) {
          co_await yield();
          self.store(word.global(), i);
        }
      });
      w.join();
    });
    CHECK_MESSAGE(!v.failure, v.to_string());
  }
}

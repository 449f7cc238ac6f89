// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace quarry;
using namespace quarry::emu;

struct handover {
  order write = order::release;
  order read = order::acquire;
};

/// A payload and a flag from one host thread to another.
void pass_message(world& w, handover h) {
  auto data = w.allocate<std::uint32_t>(1, "data");
  auto flag = w.allocate<std::uint32_t>(1, "flag");
  w.start("writer", [&](world_core& self) {
    self.store(data.global(), 42);
    self.store(flag.global(), 1, h.write, scope::system);
  });
  w.start_task("reader", [&](world_core& self) -> task<> {
    auto const is_set = [](std::uint32_t v) { return v == 1; };
    static_cast<void>(co_await self.wait_until(flag.global(), is_set, h.read, scope::system));
    w.check(self.load(data.global()) == 42, "the payload is stale");
  });
  w.join();
}

verdict explore_message(handover h, explore_options o = {}) {
  o.executions = 300;
  return explore(o, [&](world& w) { pass_message(w, h); });
}

/// A kernel on one compute unit hands a word to one on another.
struct produce {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> data, global<std::uint32_t> flag,
                    scope far) const {
    if (wf.linear_group_id() == 0) {
      wf.store(data, 42);
      wf.store(flag, 1, order::release, far);
      co_return;
    }
    auto const is_set = [](std::uint32_t v) { return v == 1; };
    static_cast<void>(co_await wf.wait_until(flag, is_set, order::acquire, far));
    wf.store(data + 1, wf.load(data));
  }
};

/// Signals with a relaxed store, and ends only when it is told to.
struct signal {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> at, scope far,
                    global<std::uint32_t> end) const {
    wf.store(at, 1, order::relaxed, far);
    auto const is_set = [](std::uint32_t v) { return v == 2; };
    static_cast<void>(co_await wf.wait_until(end, is_set, order::acquire, scope::system));
  }
};

void pass_between_groups(world& w, scope far) {
  agent gpu(w.scheduler(), {.compute_units = 2, .wavefront_slots = 1, .wavefront_size = 32});
  auto words = gpu.allocate<std::uint32_t>(64, "words");
  auto const end = gpu.run({.work_items = 64, .work_items_per_group = 32, .cooperative = true},
                           produce{}, words.global(), words.global() + 32, far);
  w.check(static_cast<bool>(end), "the kernel ended with a fault");
  w.check(words.host()[1] == 42, "the word did not arrive");
}

} // namespace

TEST_SUITE("emu.explore") {
  TEST_CASE("a right world does not fail, in any strategy; exhaustively, in any execution") {
    for (char const* const strategy : {"swarm", "random_walk", "pct", "boring"}) {
      CAPTURE(strategy);
      verdict const v = explore_message({}, {.strategy = strategy});
      CHECK_MESSAGE(v, v.to_string());
      CHECK(v.executions == 300);
      CHECK(v.inconclusive == 0);
    }
    verdict const all = explore({.executions = 100'000, .strategy = "exhaustive"},
                                [](world& w) { pass_message(w, {}); });
    CHECK_MESSAGE(all, all.to_string());
    CHECK(all.is_complete);
  }

  TEST_CASE("a missing release or acquire is a race, and without the detector a stale value") {
    for (handover const h :
         {handover{order::relaxed, order::acquire}, handover{order::release, order::relaxed}}) {
      verdict const race = explore_message(h);
      REQUIRE(race.failure);
      CHECK(race.failure->kind == "race");
      CHECK(race.failure->is_repeatable);
      verdict const stale = explore_message(h, {.detects_races = false});
      REQUIRE(stale.failure);
      CHECK(stale.failure->kind == "check");
      CHECK(stale.failure->report.find("the payload is stale") != std::string::npos);
      CHECK(stale.failure->shrunk.nonzero_count() <= 3);
    }
  }

  TEST_CASE("a scope that is too narrow is found between compute units") {
    auto const run = [](scope far, bool detects_races) {
      return explore({.executions = 500, .detects_races = detects_races},
                     [far](world& w) { pass_between_groups(w, far); });
    };
    verdict const right = run(scope::agent, true);
    CHECK_MESSAGE(right, right.to_string());
    verdict const narrow = run(scope::work_group, true);
    REQUIRE(narrow.failure);
    CHECK(narrow.failure->kind == "race");
    CHECK(run(scope::work_group, false).failure);
  }

  TEST_CASE("a deadlock is a failure that names who waits") {
    verdict const v = explore({.executions = 10}, [](world& w) {
      auto flag = w.allocate<std::uint32_t>(1, "flag");
      w.start_task("waiter", [&](world_core& self) -> task<> {
        auto const is_set = [](std::uint32_t f) { return f == 1; };
        static_cast<void>(
            co_await self.wait_until(flag.global(), is_set, order::acquire, scope::system));
      });
      w.join();
    });
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "deadlock");
    CHECK(v.failure->report.find("waiter") != std::string::npos);
  }

  TEST_CASE("an execution that never ends is inconclusive, and says so") {
    verdict const v = explore({.executions = 2, .most_decisions = 200}, [](world& w) {
      auto flag = w.allocate<std::uint32_t>(1, "flag");
      for (char const* const name : {"a", "b"})
        w.start(name, [&](world_core& self) {
          while (self.load(flag.global(), order::acquire, scope::system) == 0) {
          }
        });
      w.join();
    });
    CHECK(v);
    CHECK(v.inconclusive == 2);
    CHECK(v.to_string().find("2 inconclusive") != std::string::npos);
  }

  TEST_CASE("a store that is only relaxed reaches a waiter all the same, one of narrow scope not") {
    auto const run = [](scope far) {
      return explore({.executions = 50, .detects_races = false}, [far](world& w) {
        agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
        auto words = gpu.allocate<std::uint32_t>(1, "words");
        w.start_task("host", [&](world_core& self) -> task<> {
          auto const is_set = [](std::uint32_t v) { return v == 1; };
          static_cast<void>(
              co_await self.wait_until(words.global(), is_set, order::acquire, scope::system));
        });
        auto last = gpu.allocate<std::uint32_t>(1, "last");
        auto running = gpu.launch({.work_items = 32}, signal{}, words.global(), far, last.global());
        w.join();
        w.host().store(last.global(), 2, order::release, scope::system);
        static_cast<void>(running.wait());
      });
    };
    verdict const wide = run(scope::system);
    CHECK_MESSAGE(wide, wide.to_string());
    verdict const narrow = run(scope::agent);
    REQUIRE(narrow.failure);
    CHECK(narrow.failure->kind == "deadlock");
  }

  TEST_CASE("the same seed gives the same executions, and a record repeats one") {
    auto const once = [](std::uint64_t seed) { return explore_message({}, {.seed = seed}); };
    CHECK(once(7).trace_hash == once(7).trace_hash);
    CHECK(once(7).trace_hash != once(8).trace_hash);
    verdict const found = explore_message({order::relaxed, order::acquire});
    REQUIRE(found.failure);
    verdict const again =
        explore_message({order::relaxed, order::acquire}, {.replays = found.failure->found});
    REQUIRE(again.failure);
    CHECK(again.executions == 1);
    CHECK(again.failure->kind == found.failure->kind);
    CHECK(again.failure->where == found.failure->where);
    CHECK(again.divergence == "");
  }

  TEST_CASE("bytes decide an execution: none are the boring one, some a stale payload") {
    auto const run = [](std::vector<std::uint8_t> const& choices) {
      return explore_message({order::relaxed, order::acquire},
                             {.strategy = "bytes", .bytes = choices, .detects_races = false});
    };
    CHECK(run({}));
    std::vector<std::uint8_t> first;
    for (std::uint32_t bits = 0; first.empty() && bits < 4096; ++bits) {
      std::vector<std::uint8_t> some(12);
      for (unsigned i = 0; i < some.size(); ++i)
        some[i] = bits >> i & 1;
      if (!run(some))
        first = some;
    }
    REQUIRE(!first.empty());
    CHECK(run(first).executions == 1);
    CHECK(run(first).trace_hash == run(first).trace_hash);
  }

  TEST_CASE("state outside the world is found out") {
    int runs = 0;
    verdict const v = explore({.executions = 5}, [&](world& w) {
      auto word = w.allocate<std::uint32_t>(1);
      for (int i = 0; i < runs % 3; ++i)
        w.start("writer", [&](world_core& self) { self.store(word.global(), 1); });
      ++runs;
      w.join();
    });
    REQUIRE(v.failure);
    CHECK(!v.failure->is_repeatable);
    CHECK(v.to_string().find("hidden state") != std::string::npos);
  }

  TEST_CASE("a strategy that does not exist is refused, with those that do") {
    CHECK_THROWS_WITH_AS(static_cast<void>(explore({.strategy = "luck"}, [](world&) {})),
                         doctest::Contains("swarm"), std::invalid_argument);
  }
}

// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
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
struct send_signal {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> at, scope far,
                    global<std::uint32_t> end) const {
    wf.store(at, 1, order::relaxed, far);
    auto const is_set = [](std::uint32_t v) { return v == 2; };
    static_cast<void>(co_await wf.wait_until(end, is_set, order::acquire, scope::system));
  }
};

/// Groups of one compute unit, one after the other in the same LDS.
struct use_lds {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> out, bool writes_all) const {
    auto const words = wf.template lds<std::uint32_t, 32>();
    if (writes_all || wf.linear_group_id() == 0)
      wf.store(words + wf.local_id(), convert<std::uint32_t>(wf.local_id().to_lanes()));
    wf.store(out + wf.global_id(), wf.load(words + wf.local_id()));
    co_return;
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
    verdict const few =
        explore({.executions = 100'000, .strategy = "exhaustive", .most_deviations = 2},
                [](world& w) { pass_message(w, {}); });
    CHECK_MESSAGE(few, few.to_string());
    CHECK(!few.is_complete);
    CHECK(few.is_complete_up_to == 2U);
    CHECK(few.executions < all.executions);
    CHECK(few.to_string().find("all with at most 2 deviations") != std::string::npos);
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

  TEST_CASE("an execution that never ends is inconclusive, and says who is busy") {
    verdict const v = explore({.executions = 2, .most_decisions = 200}, [](world& w) {
      auto words = w.allocate<std::uint32_t>(2, "words");
      for (std::size_t const i : {0, 1})
        w.start(i == 0 ? "a" : "b", [at = words.global() + i](world_core& self) {
          for (;;)
            self.store(at, self.load(at) + 1);
        });
      w.join();
    });
    CHECK(v);
    CHECK(v.inconclusive == 2);
    CHECK(v.to_string().find("2 inconclusive") != std::string::npos);
    CHECK(v.busiest.find("explore_test.cpp") != std::string::npos);
  }

  TEST_CASE("where nobody will ever write, it is a livelock") {
    auto const spin = [](bool is_set) {
      return explore({.executions = 20, .most_decisions = 300}, [is_set](world& w) {
        auto flag = w.allocate<std::uint32_t>(1, "flag");
        for (char const* const name : {"a", "b"})
          w.start(name, [&](world_core& self) {
            while (self.load(flag.global(), order::acquire, scope::system) == 0) {
            }
          });
        if (is_set)
          w.host().store(flag.global(), 1, order::release, scope::system);
        w.join();
      });
    };
    verdict const v = spin(false);
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "livelock");
    CHECK(v.failure->report.find("busiest: ") != std::string::npos);
    CHECK(v.failure->is_repeatable);
    verdict const right = spin(true);
    CHECK_MESSAGE(right, right.to_string());
    CHECK(right.inconclusive == 0);
  }

  TEST_CASE("a loop of plain loads ends by chance only, one of relaxed loads does not") {
    auto const poll = [](bool is_plain) {
      return explore({.executions = 100, .detects_races = false}, [is_plain](world& w) {
        auto flag = w.allocate<std::uint32_t>(1, "flag");
        w.start("writer", [&](world_core& self) {
          self.store(flag.global(), 1, order::release, scope::system);
        });
        w.start("reader", [&](world_core& self) {
          while ((is_plain ? self.load(flag.global())
                           : self.load(flag.global(), order::relaxed, scope::system)) == 0) {
          }
        });
        w.join();
      });
    };
    verdict const v = poll(true);
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "eviction");
    verdict const right = poll(false);
    CHECK_MESSAGE(right, right.to_string());
  }

  TEST_CASE("a word of uninitialised memory must be written before it is read") {
    auto const read = [](bool is_written, bool by_host) {
      return explore({.executions = 20}, [=](world& w) {
        auto word = w.allocate<std::uint32_t>(4, "word", contents::uninitialised);
        if (is_written && by_host)
          word.host()[1] = 7;
        else if (is_written)
          w.host().store(word.global() + 1, 7);
        w.start("reader", [&](world_core& self) {
          w.check(self.load(word.global() + 1) == 7, "another value");
        });
        w.join();
      });
    };
    verdict const v = read(false, false);
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "uninitialised");
    CHECK(v.failure->report.find("reader reads 4 bytes of global memory") != std::string::npos);
    CHECK(read(true, false));
    CHECK(read(true, true));
  }

  TEST_CASE("so must LDS, by each work-group that comes to it") {
    auto const run = [](bool writes_all) {
      return explore({.executions = 50}, [writes_all](world& w) {
        agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_slots = 1, .wavefront_size = 32});
        auto out = gpu.allocate<std::uint32_t>(96, "out");
        auto const end = gpu.run({.work_items = 96, .work_items_per_group = 32, .lds_bytes = 128},
                                 use_lds{}, out.global(), writes_all);
        w.check(static_cast<bool>(end), "the kernel ended with a fault");
      });
    };
    verdict const right = run(true);
    CHECK_MESSAGE(right, right.to_string());
    verdict const wrong = run(false);
    REQUIRE(wrong.failure);
    CHECK(wrong.failure->kind == "uninitialised");
    CHECK(wrong.failure->report.find("LDS") != std::string::npos);
  }

  TEST_CASE("a failure names what would mend it, and no more than that") {
    auto const mended = [](handover h, bool detects_races = true) {
      verdict const v = explore_message(h, {.detects_races = detects_races});
      REQUIRE(v.failure);
      REQUIRE(v.failure->mended);
      CHECK(v.failure->mended->is_possible);
      return v.failure->mended->changes;
    };
    for (bool const detects_races : {true, false}) {
      auto const release = mended({order::relaxed, order::acquire}, detects_races);
      REQUIRE(release.size() == 1);
      CHECK(release[0].at.what == operation_kind::store);
      CHECK(release[0].how == order::release);
      auto const acquire = mended({order::release, order::relaxed}, detects_races);
      REQUIRE(acquire.size() == 1);
      CHECK(acquire[0].at.what == operation_kind::load);
      CHECK(acquire[0].how == order::acquire);
      CHECK(mended({order::relaxed, order::relaxed}, detects_races).size() == 2);
    }
  }

  TEST_CASE("what no order mends is said to be so") {
    verdict const v = explore({.executions = 50}, [](world& w) {
      auto word = w.allocate<std::uint32_t>(1, "word");
      for (char const* const name : {"a", "b"})
        w.start(name, [&](world_core& self) { // two steps: increments are lost
          auto const old = self.load(word.global(), order::acquire, scope::system);
          self.store(word.global(), old + 1, order::release, scope::system);
        });
      w.join();
      w.check(w.host().load(word.global()) == 2, "an increment is lost");
    });
    REQUIRE(v.failure);
    REQUIRE(v.failure->mended);
    CHECK(!v.failure->mended->is_possible);
    CHECK(v.to_string().find("look at the logic") != std::string::npos);
  }

  TEST_CASE("orders that are stronger than they need be are named, those that are needed are not") {
    auto const narrowings = [](handover h) {
      explore_options o{.narrows = true};
      auto const v = explore_message(h, o);
      CHECK_MESSAGE(v, v.to_string());
      return v.narrowings;
    };
    // Host threads are one agent: its scope would do.
    for (adjustment const& a : narrowings({order::release, order::acquire})) {
      CAPTURE(to_string(a));
      CHECK(a.how == a.at.how);
      CHECK(a.far == scope::agent);
    }
    auto const weaker = narrowings({order::seq_cst, order::acquire});
    auto const is_release = [](adjustment const& a) { return a.how == order::release; };
    CHECK(std::count_if(weaker.begin(), weaker.end(), is_release) == 1);
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
        auto running =
            gpu.launch({.work_items = 32}, send_signal{}, words.global(), far, last.global());
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

  TEST_CASE("a process that dies in an execution leaves a mark of which one it was") {
    auto const folder =
        std::filesystem::temp_directory_path() / ("quarry-explore-" + std::to_string(::getpid()));
    auto const explore_here = [&](bool dies) {
      int executions = 0;
      return explore({.executions = 10, .seed = 7, .name = "a/b", .failures = folder.string()},
                     [&](world&) {
                       if (++executions == 5 && dies)
                         ::_exit(3);
                     });
    };
    pid_t const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0)
      static_cast<void>(explore_here(true));
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WEXITSTATUS(status) == 3);
    std::ifstream mark(folder / "a-b.running");
    std::string const text(std::istreambuf_iterator<char>(mark), {});
    CHECK(text == "quarry-running 1\nname: a/b\nseed: 0x7\nexecution:                    5\n");
    verdict const v = explore_here(false);
    CHECK(v);
    CHECK(v.left_behind == (folder / "a-b.died").string());
    CHECK(v.to_string().find("a-b.died") != std::string::npos);
    CHECK(!std::filesystem::exists(folder / "a-b.running"));
    std::filesystem::remove_all(folder);
  }

  TEST_CASE("a strategy that does not exist is refused, with those that do") {
    CHECK_THROWS_WITH_AS(static_cast<void>(explore({.strategy = "luck"}, [](world&) {})),
                         doctest::Contains("swarm"), std::invalid_argument);
  }
}

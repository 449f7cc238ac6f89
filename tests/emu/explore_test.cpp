// SPDX-License-Identifier: Apache-2.0
#include "message_world.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using namespace quarry_test;

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

void pass_between_groups(world& w, scope far) {
  explored_agent gpu(w.scheduler(),
                     {.compute_units = 2, .wavefront_slots = 1, .wavefront_size = 32});
  auto words = gpu.allocate<std::uint32_t>(64, "words");
  auto const end = gpu.run({.work_items = 64, .work_items_per_group = 32, .cooperative = true},
                           produce{}, words.global(), words.global() + 32, far);
  w.check(static_cast<bool>(end), "the kernel ended with a fault");
  w.check(words.host()[1] == 42, "the word did not arrive");
}

struct write_five {
  void operator()(any_wavefront auto& wf, global<std::uint64_t> at) const { wf.store(at, 5); }
};
struct add_one {
  void operator()(any_wavefront auto& wf, global<std::uint64_t> at) const {
    wf.store(at + 1, wf.load(at) + 1);
  }
};

struct waits_for_flag {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> flag) const {
    auto const is_set = [](std::uint32_t f) { return f == 1; };
    static_cast<void>(co_await wf.wait_until(flag, is_set, order::acquire, scope::system));
  }
};

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
        explore({.executions = 100'000, .strategy = "exhaustive", .bounds = {.deviations = 2}},
                [](world& w) { pass_message(w, {}); });
    CHECK_MESSAGE(few, few.to_string());
    CHECK(!few.is_complete);
    CHECK(few.is_complete_up_to == search_bounds{.deviations = 2});
    CHECK(few.executions < all.executions);
    CHECK(few.to_string().find("all with at most 2 deviations") != std::string::npos);
    search_bounds const bounds{.deviations = 2, .preemptions = 1, .stale = 1};
    verdict const fewer =
        explore({.executions = 100'000, .strategy = "exhaustive", .bounds = bounds},
                [](world& w) { pass_message(w, {}); });
    CHECK(!fewer.is_complete);
    CHECK(fewer.is_complete_up_to == bounds);
    CHECK(fewer.executions < few.executions);
    CHECK(
        fewer.to_string().find("all with at most 2 deviations and 1 pre-emption and 1 stale value "
                               "or late write\n") != std::string::npos);
  }

  TEST_CASE("a missing release or acquire is a race, and without the detector a stale value") {
    for (message_orders const h : {message_orders{order::relaxed, order::acquire},
                                   message_orders{order::release, order::relaxed}}) {
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
    CHECK(found.to_string().find("(execution 1, seed 0x1; ") != std::string::npos);
    CHECK(again.to_string().find("(execution 1; ") != std::string::npos);
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
    verdict const v = explore({.executions = 10}, [&](world& w) {
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

  TEST_CASE("what host code has written between launches stays, also where its word is split") {
    verdict const v = explore({.executions = 20}, [](world& w) {
      explored_agent gpu(w.scheduler(),
                         {.compute_units = 1, .wavefront_slots = 1, .wavefront_size = 32});
      auto words = gpu.allocate<std::uint64_t>(2, "words");
      launch_config const one{.work_items = 32, .work_items_per_group = 32};
      static_cast<void>(gpu.run(one, write_five{}, words.global()));
      words.host()[0] = 0x1'0000'1000;
      auto const half = reinterpret_cast<std::uint32_t*>(words.global().get());
      static_cast<void>(w.host().load(global<std::uint32_t>(half)));
      static_cast<void>(gpu.run(one, add_one{}, words.global()));
      w.check(words.host()[0] == 0x1'0000'1000, "it is gone");
      w.check(words.host()[1] == 0x1'0000'1001, "the kernel has not seen it");
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("an execution that is cut, wherever that is, leaves nothing to the next one") {
    // Every other one comes to its limit: with the world function at work, or waiting for a kernel.
    for (bool const waits : {false, true}) {
      CAPTURE(waits);
      int executions = 0;
      verdict const v =
          explore({.executions = 40, .most_decisions = 200, .runs_repeated = true}, [&](world& w) {
            int const count = ++executions % 2 != 0 ? 2000 : 20;
            explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
            auto words = gpu.allocate<std::uint32_t>(48, "words");
            auto const at = words.global();
            auto const work = [&](world_core& self, std::uint32_t mine) {
              for (int i = 0; i < count; ++i)
                self.store(at + mine, 1);
            };
            w.start("other", [&](world_core& self) {
              work(self, 16);
              self.store(at, 1, order::release, scope::system);
            });
            if (waits)
              static_cast<void>(gpu.run({.work_items = 32, .work_items_per_group = 32},
                                        waits_for_flag{}, words.global()));
            else
              work(w.host(), 32);
            w.join();
          });
      CHECK_MESSAGE(v, v.to_string());
      CHECK(v.executions == 40);
      CHECK(v.inconclusive == 20);
    }
  }

  TEST_CASE("an execution that is cut ends, though its host tries again whenever a wait fails") {
    enum class way : std::uint8_t { run, packets, destroyed, signal };
    for (way const how : {way::run, way::packets, way::destroyed, way::signal}) {
      CAPTURE(static_cast<int>(how));
      int attempts = 0;
      verdict const v = explore({.executions = 5, .most_decisions = 200}, [&](world& w) {
        launch_path const path = how == way::packets ? launch_path::packets : launch_path::straight;
        explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32},
                           {.launches = path});
        auto words = gpu.allocate<std::uint32_t>(32, "words");
        emu::signal never(gpu.core().known());
        user_queue queue(gpu.core().known(), 2);
        packet_processor processor(gpu.core(), queue);
        w.start("spinner", [at = words.global() + 16](world_core& self) {
          for (;;)
            self.fetch_add(at, 1, order::relaxed, scope::system);
        });
        launch_config const one{.work_items = 32, .work_items_per_group = 32};
        auto const try_once = [&]() -> bool {
          if (how == way::signal)
            return bool(processor.wait(never));
          if (how == way::destroyed) // a destructor must not throw
            static_cast<void>(gpu.launch(one, waits_for_flag{}, words.global()));
          return bool(gpu.run(one, waits_for_flag{}, words.global()));
        };
        while (attempts < 1000 && !try_once())
          ++attempts;
      });
      CHECK_MESSAGE(!v.failure, v.to_string());
      CHECK(v.inconclusive == 5);
      CHECK(attempts == 0);
    }
  }

  TEST_CASE("memory that is known no longer takes no value and no mark of its neighbour with it") {
    auto const unregister = [](bool is_ordered) {
      return explore({.executions = 20, .diagnoses = false}, [is_ordered](world& w) {
        alignas(8) std::uint32_t pair[2] = {};
        auto flag = w.allocate<std::uint32_t>(1, "flag");
        std::optional<registration> first(std::in_place, w.known(), pair, 4, "first");
        registration const second(w.known(), pair + 1, 4, "second");
        global<std::uint32_t> const word(pair + 1);
        w.start("writer", [&](world_core& self) {
          self.store(word, 7);
          self.store(flag.global(), 1, is_ordered ? order::release : order::relaxed, scope::system);
        });
        w.start_task("reader", [&](world_core& self) -> task<> {
          auto const is_set = [](std::uint32_t v) { return v == 1; };
          static_cast<void>(
              co_await self.wait_until(flag.global(), is_set, order::acquire, scope::system));
          first.reset();
          w.check(self.load(word) == 7, "the neighbour's value is gone");
        });
        w.join();
      });
    };
    verdict const right = unregister(true);
    CHECK_MESSAGE(right, right.to_string());
    verdict const wrong = unregister(false);
    REQUIRE(wrong.failure);
    CHECK(wrong.failure->kind == "race");
  }

  TEST_CASE("a process that dies in an execution leaves a mark of which one it was") {
    auto const folder =
        std::filesystem::temp_directory_path() / ("quarry-explore-" + std::to_string(::getpid()));
    auto const explore_here = [&](bool dies) {
      int executions = 0;
      return explore({.executions = 10,
                      .seed = 7,
                      .runs_repeated = true,
                      .name = "a/b",
                      .failures = folder.string()},
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

  TEST_CASE("explorations of one name at a time do not take each other's marks for the dead's") {
    auto const folder =
        std::filesystem::temp_directory_path() / ("quarry-two-" + std::to_string(::getpid()));
    auto const explore_here = [&](std::function<void()> const& first) {
      int executions = 0;
      return explore({.executions = 2, .name = "two", .failures = folder.string()}, [&](world&) {
        if (++executions == 1)
          first();
      });
    };
    int here[2];
    int there[2];
    REQUIRE(::pipe(here) == 0);
    REQUIRE(::pipe(there) == 0);
    char byte = 0;
    pid_t const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      verdict const v = explore_here([&] {
        if (::write(here[1], "", 1) != 1 || ::read(there[0], &byte, 1) != 1)
          ::_exit(4);
      });
      ::_exit(v && v.left_behind.empty() ? 3 : 5);
    }
    REQUIRE(::read(here[0], &byte, 1) == 1);
    verdict const v = explore_here([&] {
      CHECK(std::filesystem::exists(folder / "two.running"));
      CHECK(std::filesystem::exists(folder / "two.2.running"));
    });
    CHECK(v);
    CHECK(v.left_behind == "");
    CHECK(std::filesystem::exists(folder / "two.running"));
    CHECK(!std::filesystem::exists(folder / "two.2.running"));
    REQUIRE(::write(there[1], "", 1) == 1);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WEXITSTATUS(status) == 3);
    CHECK(std::filesystem::is_empty(folder));
    for (int const end : {here[0], here[1], there[0], there[1]})
      ::close(end);
    std::filesystem::remove_all(folder);
  }

  TEST_CASE("of two processes that died neither's mark is lost") {
    auto const folder =
        std::filesystem::temp_directory_path() / ("quarry-died-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    for (char const* const died : {"a.died", "a.2.died"}) {
      std::ofstream(folder / "a.running") << died;
      verdict const v =
          explore({.executions = 1, .name = "a", .failures = folder.string()}, [](world&) {});
      CHECK(v.left_behind == (folder / died).string());
    }
    for (char const* const died : {"a.died", "a.2.died"}) {
      std::ifstream mark(folder / died);
      CHECK(std::string(std::istreambuf_iterator<char>(mark), {}) == died);
    }
    std::filesystem::remove_all(folder);
  }

  TEST_CASE("a strategy that does not exist is refused, with those that do") {
    CHECK_THROWS_WITH_AS(static_cast<void>(explore({.strategy = "luck"}, [](world&) {})),
                         doctest::Contains("swarm"), std::invalid_argument);
    explore_options repeats{.strategy = "luck"}; // a diagnosis would draw by it
    repeats.replays.emplace();
    CHECK_THROWS_WITH_AS(static_cast<void>(explore(repeats, [](world&) {})),
                         doctest::Contains("swarm"), std::invalid_argument);
  }
}

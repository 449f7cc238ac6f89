// SPDX-License-Identifier: Apache-2.0
// What the report of a failure says of it, part by part, and what its class is.
#include "message_world.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/mutex.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <regex>
#include <source_location>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace {

using namespace quarry_test;

using word = global<std::uint32_t>;

std::string here(int lines_back, std::source_location where = std::source_location::current()) {
  return "explore_reports_test.cpp:" + std::to_string(static_cast<int>(where.line()) - lines_back);
}

bool says(verdict const& v, std::string const& words) {
  return v.to_string().find(words) != std::string::npos;
}

struct writes_all {
  task<> operator()(any_wavefront auto& wf, word at) const {
    wf.store(at + wf.local_id(), convert<std::uint32_t>(wf.local_id().to_lanes()));
    co_return;
  }
};

/// Two kernels that race, each in two groups of one wavefront.
verdict explore_two_kernels() {
  return explore({.executions = 50, .diagnoses = false}, [](world& w) {
    explored_agent gpu(w.scheduler(), {.compute_units = 2, .wavefront_size = 32});
    auto words = gpu.allocate<std::uint32_t>(32, "ranks");
    auto first =
        gpu.launch({.work_groups = 1, .work_items_per_group = 32}, writes_all{}, words.global());
    auto second =
        gpu.launch({.work_groups = 1, .work_items_per_group = 32}, writes_all{}, words.global());
    static_cast<void>(first.wait());
    static_cast<void>(second.wait());
  });
}

/// The second wavefront does not come to the barrier.
struct lost {
  task<> operator()(any_wavefront auto& wf, word never) const {
    if (wf.index_in_group() == 1) {
      auto const is_set = [](std::uint32_t v) { return v != 0; };
      co_await wf.wait_until(never, is_set, order::acquire, scope::system);
    }
    co_await wf.barrier();
  }
};

struct race_in_lds {
  task<> operator()(any_wavefront auto& wf) const {
    auto const words = wf.template lds<std::uint32_t, 32>();
    auto const lane = wf.local_id() + (-32 * static_cast<std::int32_t>(wf.index_in_group()));
    wf.store(words + lane, convert<std::uint32_t>(lane.to_lanes()));
    co_return;
  }
};

} // namespace

TEST_SUITE("emu.explore_reports") {
  TEST_CASE("a race names both wavefronts as debuggers do, their launches and their lines' text") {
    verdict const v = explore_two_kernels();
    REQUIRE(v.failure);
    CAPTURE(v.to_string());
    CHECK(v.failure->kind == "race");
    CHECK(says(v, "  first    wave 1:1:1:1 (0,0,0)/0 lane 0, explore_reports_test.cpp:"));
    CHECK(says(v, "  second   wave 1:1:2:1 (0,0,0)/0 lane 0, explore_reports_test.cpp:"));
    CHECK(says(v, "             | wf.store(at + wf.local_id(), "));
    CHECK(says(v, "             in dispatch 1 of agent 1: "));
    CHECK(says(v, "writes_all, 1 group of 32, launched at explore_reports_test.cpp:"));
    CHECK(says(v, "             in dispatch 2 of agent 1: "));
  }

  TEST_CASE("it names the memory: its space, the allocation, its size and where it was made") {
    verdict const two = explore_two_kernels();
    CHECK(says(two, "  memory   'ranks': 128 bytes of memory of agent 1, allocated at "
                    "explore_reports_test.cpp:"));
    CHECK(says(two, "; this is byte 0\n"));
    std::uint_least32_t line = 0;
    verdict const of_host = explore({.executions = 50, .diagnoses = false}, [&line](world& w) {
      auto other = w.allocate<std::uint32_t>(8, "pair");
      auto words = w.allocate<std::uint32_t>(8, "pair");
      line = std::source_location::current().line() - 1;
      for (char const* const name : {"one", "other"})
        w.start(name, [at = words.global() + 3](world_core& self) { self.store(at, 1); });
      w.join();
    });
    CHECK_MESSAGE(says(of_host, "  memory   'pair #2': 32 bytes of host memory, allocated at "
                                "explore_reports_test.cpp:" +
                                    std::to_string(line) + "; this is byte 12\n"),
                  of_host.to_string());
    verdict const of_queue = explore({.executions = 50, .diagnoses = false}, [&line](world& w) {
      spsc_queue<std::uint32_t> queue(w.known(), 2);
      line = std::source_location::current().line() - 1;
      for (char const* const name : {"one", "other"})
        w.start_task(name, [&queue](world_core& self) -> task<> {
          auto reserved = queue.reserve(self); // of two producers
          self.store(co_await std::move(reserved), 1);
        });
      w.join();
    });
    CHECK_MESSAGE(says(of_queue, "allocated at explore_reports_test.cpp:" + std::to_string(line)),
                  of_queue.to_string());
    verdict const of_lds = explore({.executions = 50, .diagnoses = false}, [](world& w) {
      explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
      static_cast<void>(
          gpu.run({.work_groups = 1, .work_items_per_group = 64, .lds_bytes = 128}, race_in_lds{}));
    });
    REQUIRE(of_lds.failure);
    CHECK_MESSAGE(says(of_lds, " bytes of LDS, allocated at explore_reports_test.cpp:"),
                  of_lds.to_string());
  }

  TEST_CASE("reports like it are counted, not repeated") {
    verdict const v = explore_two_kernels();
    REQUIRE(v.failure);
    CHECK(v.failure->equal == 31); // a lane each
    CHECK(says(v, "  31 more like it in the same execution\n"));
  }

  TEST_CASE("a failure that is shrunk does not spin for longer than the one that was found") {
    for (std::uint64_t const seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
      CAPTURE(seed);
      verdict const v = explore({.seed = seed, .diagnoses = false}, [](world& w) {
        auto words = w.allocate<std::uint32_t>(32, "words");
        auto const data = words.global(), flag = words.global() + 16;
        w.start("reader", [=](world_core& self) {
          while (self.load(flag, order::relaxed, scope::system) == 0) { // should acquire
          }
          self.load(data);
        });
        w.start("writer", [=](world_core& self) {
          self.store(data, 1);
          self.store(flag, 1, order::release, scope::system);
        });
        w.join();
      });
      REQUIRE(v.failure);
      std::smatch times; // as in "(20000 times)"
      std::string const text = v.to_string();
      if (std::regex_search(text, times, std::regex("\\(([0-9]+) times\\)")))
        CHECK_MESSAGE(std::stoul(times[1]) < 200, text);
      CHECK(v.failure->shrunk.nonzero_count() <= v.failure->found.nonzero_count());
      CHECK(v.failure->shrunk.preemption_count() <= v.failure->found.preemption_count());
    }
  }

  TEST_CASE("what the lanes of an instruction do is one line of the history") {
    verdict const v = explore_two_kernels();
    REQUIRE(v.failure);
    std::string const& history = v.failure->history;
    CAPTURE(history);
    CHECK(history.find("store  plain              ranks[0] = 0x0 … ranks[31] = 0x1f (32 times)") !=
          std::string::npos);
    CHECK(std::count(history.begin(), history.end(), '\n') <= 2);
  }

  TEST_CASE("an old value that makes a check fail names what it hides, and who wrote that where") {
    verdict const v = explore_message({order::relaxed, order::acquire}, {.detects_races = false});
    REQUIRE(v.failure);
    CAPTURE(v.to_string());
    CHECK(v.failure->kind == "check");
    CHECK(says(v, "  stale    reader has read data[0] = 0x0 at message_world.hpp:"));
    CHECK(says(v, ": old; writer has written 0x2a at message_world.hpp:"));
    CHECK(says(v, ", stale; writer has written 0x2a at "));
  }

  TEST_CASE("a deadlock says who is absent at a barrier, and where that one is") {
    verdict const v = explore({.executions = 5, .diagnoses = false}, [](world& w) {
      explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
      auto never = gpu.allocate<std::uint32_t>(1, "never");
      static_cast<void>(
          gpu.run({.work_groups = 1, .work_items_per_group = 64}, lost{}, never.global()));
    });
    REQUIRE(v.failure);
    std::string const& report = v.failure->report;
    CAPTURE(report);
    CHECK(v.failure->kind == "deadlock");
    CHECK(report.find("; absent: wavefront 1 (wait_until at explore_reports_test.cpp:") !=
          std::string::npos);
    CHECK(report.find("lost, dispatch 1 of agent 1\n") != std::string::npos);
    CHECK(report.find(" on never[0]; in ") != std::string::npos);
  }

  TEST_CASE("what has no name has a number, and its holder's name") {
    verdict const v = explore({.executions = 100, .diagnoses = false}, [](world& w) {
      mutex one, other;
      auto const lock_both = [](mutex& a, mutex& b, world_core& self, word at) -> task<> {
        auto const first = co_await a.lock();
        self.fetch_add(at, 1, order::relaxed, scope::system);
        auto const second = co_await b.lock();
      };
      auto count = w.allocate<std::uint32_t>(1, "count");
      w.start_task("left",
                   [&](world_core& self) { return lock_both(one, other, self, count.global()); });
      w.start_task("right",
                   [&](world_core& self) { return lock_both(other, one, self, count.global()); });
      w.join();
    });
    REQUIRE(v.failure);
    std::string const& report = v.failure->report;
    CAPTURE(report);
    CHECK(v.failure->kind == "deadlock");
    CHECK(report.find(" on mutex 1, which right has\n") != std::string::npos);
    CHECK(report.find(" on mutex 2, which left has\n") != std::string::npos);
    CHECK(report.find("host   join at explore_reports_test.cpp:") != std::string::npos);
    CHECK(report.find("0x") == std::string::npos);
  }

  TEST_CASE("a deadlock's class is where its actors wait, and shrinking stays with it") {
    // Two flags that may never be set; who waits for the second one has found the first one set.
    std::string const first = here(-7), second = here(-9);
    auto const run = [](world& w) {
      auto flags = w.allocate<std::uint32_t>(32, "flags");
      auto const at = flags.global();
      w.start_task("waiter", [&](world_core& self) -> task<> {
        auto const is_set = [](std::uint32_t v) { return v == 2; };
        if (self.load(at, order::acquire, scope::system) == 0)
          co_await self.wait_until(at, is_set, order::acquire, scope::system);
        else
          co_await self.wait_until(at + 16, is_set, order::acquire, scope::system);
      });
      w.start("setter",
              [at](world_core& self) { self.store(at, 1, order::release, scope::system); });
      w.join();
    };
    bool has_seen_second = false;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      verdict const v = explore({.executions = 1, .seed = seed, .diagnoses = false}, run);
      REQUIRE(v.failure);
      CAPTURE(v.to_string());
      CHECK(v.failure->kind == "deadlock");
      CHECK((v.failure->where.find(first) != std::string::npos) !=
            (v.failure->where.find(second) != std::string::npos));
      has_seen_second |= v.failure->where.find(second) != std::string::npos;
      verdict const again = explore({.replays = v.failure->shrunk}, run);
      REQUIRE(again.failure);
      CHECK(again.failure->where == v.failure->where);
    }
    CHECK(has_seen_second);
  }

  TEST_CASE("so are the lines where a livelock spins, and what an exception says") {
    verdict const spins =
        explore({.executions = 20, .most_decisions = 300, .diagnoses = false}, [](world& w) {
          auto flag = w.allocate<std::uint32_t>(1, "flag");
          w.start("spinner", [&](world_core& self) {
            while (self.load(flag.global(), order::acquire, scope::system) == 0) {
            }
          });
          w.join();
        });
    REQUIRE(spins.failure);
    CHECK(spins.failure->kind == "livelock");
    CHECK(spins.failure->where == here(7) + ", " + here(4));
    verdict const throws = explore({.executions = 5, .diagnoses = false}, [](world& w) {
      w.start("thrower", [](world_core&) { throw std::runtime_error("at 0x7fff12: no\nmore"); });
      w.join();
    });
    REQUIRE(throws.failure);
    CHECK(throws.failure->kind == "exception");
    CHECK(throws.failure->where == "at 0x: no");
  }

  TEST_CASE("a race is of one class, whichever of its accesses came first") {
    bool has_begun_with_a = false;
    bool has_begun_with_b = false;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      verdict const v = explore(
          {.executions = 1, .seed = seed, .shrinks = false, .diagnoses = false}, [](world& w) {
            auto words = w.allocate<std::uint32_t>(1, "words");
            auto const at = words.global();
            w.start("b", [at](world_core& self) { self.store(at, 2); });
            w.start("a", [at](world_core& self) { self.store(at, 1); });
            w.join();
          });
      REQUIRE(v.failure);
      CAPTURE(v.to_string());
      CHECK(v.failure->kind == "race");
      CHECK(v.failure->where == here(7) + " and " + here(6));
      has_begun_with_a |= says(v, "first    a,");
      has_begun_with_b |= says(v, "first    b,");
    }
    CHECK(has_begun_with_a);
    CHECK(has_begun_with_b);
  }

  TEST_CASE("the lines that replay and debug it can be given to a shell as they are") {
    auto const folder =
        std::filesystem::temp_directory_path() / ("it's a folder " + std::to_string(::getpid()));
    verdict const v = explore({.executions = 20,
                               .shrinks = false,
                               .diagnoses = false,
                               .name = "writes",
                               .failures = folder.string(),
                               .replay_command = "quarry replay ",
                               .debug_command = "quarry gdb --replay "},
                              [](world& w) { w.check(false, "always"); });
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    REQUIRE(v.failure);
    std::string const file =
        "it'\\''s a folder " + std::to_string(::getpid()) + "/writes-1.replay'";
    CHECK(v.failure->replay_line.starts_with("quarry replay '/"));
    CHECK_MESSAGE(v.failure->replay_line.ends_with(file), v.failure->replay_line);
    CHECK(v.failure->debug_line.starts_with("quarry gdb --replay '/"));
    CHECK(v.failure->debug_line.ends_with(file));
  }

  TEST_CASE("what would fail at the same line, however it is ordered, is not said to be mended") {
    auto const here = std::source_location::current();
    operation_site const plain{here, operation_kind::load};
    verdict v;
    v.name = "early";
    v.executions = 1;
    auto& f = v.failure.emplace();
    f.mended.emplace(mending{.changes = {{plain, order::acquire, scope::system}},
                             .is_possible = true,
                             .executions = 100});
    auto const says = [&](char const* what) {
      return v.to_string().find(what) != std::string::npos;
    };
    CHECK(says("it is mended by (then no failure in 100 executions):"));
    f.mended->others = {"check other.cpp:1"}; // has nothing to do with it
    CHECK(says("it is mended by"));
    f.mended->others = {"check " + quarry::to_string(here)};
    CHECK_FALSE(says("it is mended by"));
    CHECK(says("nothing races where these are atomic, but it fails all the same"));
    f.mended->changes[0].at.how = order::relaxed; // had been atomic
    CHECK(says("it is mended by"));
  }

  TEST_CASE("an execution that ends soon after the limit says who was busy before it") {
    verdict const v =
        explore({.executions = 1, .strategy = "boring", .most_decisions = 200}, [](world& w) {
          auto words = w.allocate<std::uint32_t>(32, "words");
          w.start("worker", [at = words.global()](world_core& self) {
            for (int n = 0; n != 210; ++n)
              self.fetch_add(at, 1, order::relaxed, scope::system);
          });
          w.start("idler", [at = words.global() + 16](world_core& self) { self.store(at, 1); });
          w.join();
        });
    CHECK_MESSAGE(!v.failure, v.to_string());
    CHECK(v.is_open());
    CHECK_MESSAGE(v.busiest.starts_with("worker at explore_reports_test.cpp:"), v.busiest);
    CHECK(v.busiest.find("(1 operation)") == std::string::npos);
  }

  TEST_CASE("a verdict prints itself, with how fast it was") {
    verdict const v = explore_message({}, {.runs_repeated = true});
    CHECK(v.run_per_second() > 0);
    CHECK(says(v, " run a second"));
    CHECK(std::string(doctest::toString(v).c_str()) == v.to_string());
    std::ostringstream out;
    out << v;
    CHECK(out.str() == v.to_string());
  }
}

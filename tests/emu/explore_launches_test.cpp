// SPDX-License-Identifier: Apache-2.0
// Launches of a world that never come to their end, or may not begin.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/event.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace quarry;
using namespace quarry::emu;

struct waits_for_one {
  template<any_wavefront W>
  task<> operator()(W& wf, global<std::uint32_t> word) const {
    auto one = wf.wait_until(word, [](auto x) { return x == 1; }, order::acquire, scope::system);
    static_cast<void>(co_await one);
  }
};

struct stores_one {
  template<any_wavefront W>
  void operator()(W& wf, global<std::uint32_t> word) const {
    wf.store(word, 1U, order::release, scope::system);
  }
};

} // namespace

TEST_SUITE("emu.explore_launches") {
  TEST_CASE("an agent that goes though its kernel has not run, and never would, is a misuse") {
    auto const v = explore({.keeps_failures = false}, [](world& w) {
      auto words = w.allocate<std::uint32_t>(1, "words");
      std::optional<completion> done; // outlives what it is of
      explored_agent gpu(w.scheduler());
      done.emplace(gpu.launch(
          {.work_items = 1}, [](any_wavefront auto& wf, auto at) { wf.store(at, 1U); },
          words.global()));
    });
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "misuse");
    CHECK_MESSAGE(v.failure->report.find("an agent is destroyed while a launch runs, of lambda") !=
                      std::string::npos,
                  v.failure->report);
  }

  TEST_CASE("a kernel that waits in a deadlock is told as that, though its agent goes with it") {
    auto const v = explore({.keeps_failures = false}, [](world& w) {
      auto words = w.allocate<std::uint32_t>(1, "words");
      w.start_task("owner", [&w, at = words.global()](world_core&) -> task<> {
        explored_agent gpu(w.scheduler());
        event never;
        std::optional<completion> const running = gpu.launch(
            {.work_items = 1},
            [](any_wavefront auto& wf, auto word) -> task<> {
              static_cast<void>(co_await wf.wait_until(
                  word, [](auto x) { return x == 1; }, order::acquire, scope::system));
            },
            at);
        co_await never.wait();
      });
      w.join();
    });
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "deadlock");
  }

  TEST_CASE("who has launched a kernel that waits in vain waits for that launch, at its line") {
    std::uint_least32_t line = 0;
    auto const v = explore({.keeps_failures = false}, [&line](world& w) {
      explored_agent gpu(w.scheduler());
      auto words = w.allocate<std::uint32_t>(1, "words");
      w.start("launcher", [&](world_core&) {
        line = std::source_location::current().line() + 1;
        static_cast<void>(gpu.run({.work_items = 1}, waits_for_one{}, words.global()));
      });
      w.join();
    });
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "deadlock");
    std::string const row = "launch at explore_launches_test.cpp:";
    INFO(v.failure->report);
    CHECK(v.failure->report.find(row + std::to_string(line)) != std::string::npos);
    CHECK(v.failure->report.find("running") == std::string::npos);
  }

  TEST_CASE("a kernel that waits for another one, which finds no place, is told of that one") {
    std::uint_least32_t line = 0;
    auto const v = explore({.keeps_failures = false}, [&line](world& w) {
      explored_agent gpu(w.scheduler(),
                         {.compute_units = 1, .wavefront_slots = 1, .wavefront_size = 32});
      auto words = w.allocate<std::uint32_t>(1, "words");
      auto waits = gpu.launch({.work_items = 1}, waits_for_one{}, words.global());
      line = std::source_location::current().line() + 1;
      auto stores = gpu.launch({.work_items = 1}, stores_one{}, words.global());
      static_cast<void>(waits.wait());
      static_cast<void>(stores.wait());
    });
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "deadlock");
    INFO(v.failure->report);
    std::string const beside = "beside it, 1 of 1 groups are not resident: launch of ";
    auto const at = v.failure->report.find(beside);
    REQUIRE(at != std::string::npos);
    std::string const said = v.failure->report.substr(at, v.failure->report.find('\n', at) - at);
    CHECK(said.find("stores_one") != std::string::npos);
    CHECK(said.ends_with("explore_launches_test.cpp:" + std::to_string(line)));
  }

  TEST_CASE("a thread of one's own can launch nothing, and says so") {
    auto const says_so = [](auto const& launches) {
      try {
        launches();
      } catch (std::logic_error const& e) {
        return std::string(e.what()).find("in a thread that runs none of the actors") !=
               std::string::npos;
      }
      return false;
    };
    auto const does_nothing = [](any_wavefront auto&) {};
    auto const v = explore({.keeps_failures = false}, [&](world& w) {
      explored_agent gpu(w.scheduler());
      bool has_run = false, has_launched = false;
      std::thread([&] {
        has_run = says_so([&] { static_cast<void>(gpu.run({.work_items = 1}, does_nothing)); });
        has_launched =
            says_so([&] { static_cast<void>(gpu.launch({.work_items = 1}, does_nothing)); });
      }).join();
      w.check(has_run && has_launched, "not refused");
      w.check(static_cast<bool>(gpu.run({.work_items = 1}, does_nothing)), "it has failed");
    });
    CHECK_MESSAGE(v, v.to_string());
  }
}

// SPDX-License-Identifier: Apache-2.0
// Launches of a world that never come to their end, or may not begin.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/event.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace quarry;
using namespace quarry::emu;

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

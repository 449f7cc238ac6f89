// SPDX-License-Identifier: Apache-2.0
// What an agent is asked that it cannot do; grids and machines that are refused are in
// agent_test.cpp.
#include "agents.hpp"
#include "in_child.hpp"

#include <quarry/yield.hpp>

#include <memory>
#include <stdexcept>
#include <string>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

TEST_SUITE("emu.agent_misuse") {
  TEST_CASE("a completion that outlives its agent has ended, and cannot be waited for") {
    with_schedulers([](executor& s) {
      auto gpu = std::make_unique<agent>(s, machine{.compute_units = 1});
      auto const memory = gpu->allocate<int>(10, "memory"); // so may it
      auto done = gpu->launch({.work_groups = 1}, [](any_wavefront auto&) {});
      REQUIRE(s.run_until([&] { return done.is_done(); }));
      gpu.reset();
      CHECK(done.is_done());
      CHECK_THROWS_AS(static_cast<void>(done.wait()), std::logic_error);
    });
  }

  TEST_CASE("an agent that goes before its launch has begun ends the process") {
    aborts(
        [] {
          native_scheduler s({.threads = 1}); // whoever waits runs it
          auto gpu = std::make_unique<agent>(s, machine{.compute_units = 1});
          auto const done = gpu->launch({.work_groups = 1}, [](any_wavefront auto&) {});
          gpu.reset();
        },
        "quarry: an agent is destroyed before a launch has begun, of lambda\n");
  }

  TEST_CASE("so does one that goes while its launch runs, whichever way that has come") {
    for (launch_path const path : {launch_path::packets, launch_path::straight})
      aborts(
          [path] {
            native_scheduler s({.threads = 1});
            auto gpu = std::make_unique<agent>(s, machine{.compute_units = 1},
                                               agent::options{.launches = path});
            auto words = gpu->allocate<int>(2, "words");
            auto const wait = [](any_wavefront auto& wf, global<int> at) -> task<> {
              wf.store(at, 1, order::release, scope::system);
              auto const is_set = [](int v) { return v == 1; };
              static_cast<void>(
                  co_await wf.wait_until(at + 1, is_set, order::acquire, scope::system));
            };
            auto const done = gpu->launch({.work_items = 1}, wait, words.global());
            static_cast<void>(s.run_until([&] { return words.host()[0] == 1; }));
            gpu.reset();
          },
          "quarry: an agent is destroyed while a launch runs, of lambda\n");
  }

  TEST_CASE("what is no kernel, and no memory, is refused") {
    with_every_agent([](agent& gpu) {
      void (*const none)(work_item&) = nullptr;
      CHECK_THROWS_AS(static_cast<void>(gpu.run({.work_groups = 1}, none)), std::invalid_argument);
      CHECK_THROWS_AS(static_cast<void>(gpu.expose(static_cast<int*>(nullptr), 3, "none")),
                      std::invalid_argument);
      auto const end = gpu.run({.work_groups = 1},
                               [](any_wavefront auto& wf) { static_cast<void>(wf.global_id(3)); });
      REQUIRE(end.get_fault());
      CHECK(end.get_fault()->what == fault::kind::wrong_shape);
    });
  }

  TEST_CASE("a kernel that yields for ever comes to the scheduler's most decisions") {
    sequential_scheduler s({.most_decisions = 1000});
    agent gpu(s);
    auto const end = gpu.run({.work_groups = 1}, [](any_wavefront auto&) -> task<> {
      for (;;)
        co_await yield();
    });
    REQUIRE(end.get_fault());
    CHECK(end.get_fault()->what == fault::kind::stall);
    CHECK_MESSAGE(end.get_fault()->report.starts_with("stall: no end after 1000 decisions"),
                  end.get_fault()->report);
  }

  TEST_CASE("a kernel that launches another one is at fault") {
    with_every_agent([](agent& gpu) {
      auto const end = gpu.run({.work_groups = 2}, [&gpu](any_wavefront auto&) {
        static_cast<void>(gpu.run({.work_groups = 1}, [](any_wavefront auto&) {}));
      });
      REQUIRE(end.get_fault());
      CHECK(end.get_fault()->what == fault::kind::exception);
      CHECK_MESSAGE(end.get_fault()->report.find("from a kernel") != std::string::npos,
                    end.get_fault()->report);
      CHECK(gpu.run({.work_groups = 1}, [](any_wavefront auto&) {}));
    });
  }
}

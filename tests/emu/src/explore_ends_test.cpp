// SPDX-License-Identifier: Apache-2.0
// How executions end that do not come to the end of their world: what explore() makes of it.
#include "../message_world.hpp"
#include "cache_place.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <stdexcept>
#include <string>

namespace {

using namespace quarry_test;

struct count_for_ever {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> words) const {
    auto const at = words + wf.global_id();
    for (;;)
      wf.store(at, wf.load(at) + 1U);
    co_return;
  }
};

} // namespace

TEST_SUITE("emu.explore_ends") {
  TEST_CASE("a plain loop sees what has been written after a bounded number of stale values") {
    for (char const* const strategy : {"swarm", "pct", "random_walk"}) {
      CAPTURE(strategy);
      int most = 0;
      verdict const v = explore(
          {.executions = 1000, .strategy = strategy, .detects_races = false}, [&most](world& w) {
            auto words = w.allocate<std::uint32_t>(2);
            w.start("writer", [at = words.global()](world_core& self) {
              self.store(at, 1U, order::relaxed, scope::system);
              self.store(at + 1, 1U, order::release, scope::system);
            });
            w.start_task("reader", [&most, at = words.global()](world_core& self) -> task<> {
              auto const is_set = [](std::uint32_t value) { return value != 0; };
              auto set = self.wait_until(at + 1, is_set, order::relaxed, scope::system);
              static_cast<void>(co_await set);
              int stale = 0;
              while (self.load(at, order::relaxed, scope::system) == 0)
                ++stale;
              most = std::max(most, stale);
            });
            w.join();
          });
      CHECK_MESSAGE(v, v.to_string());
      CHECK(v.inconclusive == 0);
      CHECK(most > 0);
      CHECK(most <= emu::cache_place::most_stale_in_a_row);
    }
  }

  TEST_CASE("a grid whose wavefronts would have too many caches is refused") {
    verdict const v = explore({.executions = 1}, [](world& w) {
      explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
      auto const nothing = [](any_wavefront auto&) {};
      std::string said;
      try {
        static_cast<void>(gpu.run({.work_groups = 2049, .work_items_per_group = 32}, nothing));
      } catch (std::invalid_argument const& e) {
        said = e.what();
      }
      w.check(said.find("2049 wavefronts; under explore a launch has at most 2048") !=
                  std::string::npos,
              said);
      static_cast<void>(gpu.run({.work_groups = 3, .work_items_per_group = 32}, nothing));
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("a deadlock is a failure that names who waits") {
    verdict const v = explore({.executions = 10}, [](world& w) {
      auto flag = w.allocate<std::uint32_t>(1, "flag"),
           other = w.allocate<std::uint32_t>(1, "other");
      auto const is_set = [](std::uint32_t f) { return f == 1; };
      w.start_task("waiter", [&](world_core& self) -> task<> {
        static_cast<void>(
            co_await self.wait_until(flag.global(), is_set, order::acquire, scope::system));
      });
      w.start_task("second", [&](world_core& self) -> task<> {
        self.store(flag.global(), 2, order::release, scope::system);
        static_cast<void>(
            co_await self.wait_until(other.global(), is_set, order::acquire, scope::system));
      });
      w.join();
    });
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "deadlock");
    std::string const& report = v.failure->report;
    CHECK(report.starts_with("deadlock: nobody can go on\n"));
    CHECK(report.find("waiter") != std::string::npos);
    CHECK(report.find("  awaited  flag[0]: 0x2, written by second at explore_ends_test.cpp:") !=
          std::string::npos);
    CHECK(report.find("  awaited  other[0]: no store to it is known\n") != std::string::npos);
  }

  TEST_CASE("who spins for what never comes is a livelock, however many do, and by any strategy") {
    for (char const* const strategy : {"swarm", "random_walk", "boring", "exhaustive"})
      for (std::size_t const spinners : {1U, 2U, 3U}) {
        CAPTURE(strategy);
        CAPTURE(spinners);
        verdict const v =
            explore({.executions = 20,
                     .strategy = strategy,
                     .most_decisions = 400,
                     .shrinks = false,
                     .diagnoses = false},
                    [=](world& w) {
                      auto words = w.allocate<std::uint32_t>(8, "words");
                      for (std::size_t i = 0; i < spinners; ++i)
                        w.start("spinner", [at = words.global() + i](world_core& self) {
                          while (self.load(at, order::acquire, scope::system) == 0) {
                          }
                        });
                      w.join();
                    });
        REQUIRE_MESSAGE(v.failure, v.to_string());
        CHECK(v.failure->kind == "livelock");
      }
  }

  TEST_CASE("so is a wavefront, or two") {
    for (std::uint32_t const groups : {1U, 2U}) {
      CAPTURE(groups);
      verdict const v =
          explore({.executions = 20, .most_decisions = 400, .shrinks = false, .diagnoses = false},
                  [=](world& w) {
                    explored_agent gpu(w.scheduler(), {.wavefront_size = 32});
                    auto words = gpu.allocate<std::uint32_t>(32, "words");
                    auto const spin = [](any_wavefront auto& wf, global<std::uint32_t> at) {
                      while (wf.load(at, order::acquire, scope::agent) == 0) {
                      }
                    };
                    static_cast<void>(gpu.run({.work_groups = groups, .work_items_per_group = 32},
                                              spin, words.global()));
                  });
      REQUIRE_MESSAGE(v.failure, v.to_string());
      CHECK(v.failure->kind == "livelock");
    }
  }

  TEST_CASE("so is who takes a lock that is never given back, in whatever way it tries") {
    using attempt = bool (*)(world_core&, global<std::uint32_t>);
    for (attempt const takes : std::initializer_list<attempt>{
             [](world_core& self, global<std::uint32_t> lock) {
               return self.exchange(lock, 1, order::acquire, scope::system) == 0;
             },
             [](world_core& self, global<std::uint32_t> lock) {
               return self.fetch_or(lock, 1, order::acquire, scope::system) == 0;
             },
             [](world_core& self, global<std::uint32_t> lock) {
               std::uint32_t free = 0;
               return self.compare_exchange(lock, free, 1, order::acquire, scope::system);
             }}) {
      verdict const v =
          explore({.executions = 400, .most_decisions = 400, .shrinks = false, .diagnoses = false},
                  [takes](world& w) {
                    auto words = w.allocate<std::uint32_t>(32, "locks");
                    for (std::size_t i = 0; i < 2; ++i)
                      w.start("crosswise", [=, at = words.global()](world_core& self) {
                        while (!takes(self, at + 16 * i)) {
                        }
                        while (!takes(self, at + 16 * (1 - i))) {
                        }
                        for (std::size_t const n : {0U, 16U})
                          self.store(at + n, 0, order::release, scope::system);
                      });
                    w.join();
                  });
      REQUIRE_MESSAGE(v.failure, v.to_string());
      CHECK(v.failure->kind == "livelock");
    }
  }

  TEST_CASE("a world function that returns without join() is a misuse") {
    verdict const v = explore({.executions = 5, .diagnoses = false}, [](world& w) {
      w.start("actor", [&](world_core&) { w.check(false, "it runs"); });
    });
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "misuse");
    CHECK(v.failure->report.find("without join(): actor has not ended") != std::string::npos);
  }

  TEST_CASE("an operation of a host thread that cannot be is a failure, too") {
    verdict const v = explore({.executions = 5, .diagnoses = false}, [](world& w) {
      auto words = w.allocate<std::uint64_t>(4, "words");
      auto const odd =
          reinterpret_cast<std::uint32_t*>(reinterpret_cast<std::byte*>(words.global().get()) + 2);
      w.start("actor", [=](world_core& self) {
        self.fetch_add(global<std::uint32_t>(odd), 1, order::relaxed, scope::system);
      });
      w.join();
    });
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "misaligned access");
  }

  TEST_CASE("a deadlock names the words that are waited for") {
    verdict const v = explore({.executions = 5}, [](world& w) {
      auto flags = w.allocate<std::uint32_t>(4, "flags");
      w.start_task("waiter", [&](world_core& self) -> task<> {
        auto const is_set = [](std::uint32_t flag) { return flag != 0; };
        co_await self.wait_until(flags.global() + 2, is_set, order::acquire, scope::system);
      });
      w.join();
    });
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "deadlock");
    CHECK_MESSAGE(v.failure->report.find(" on flags[2]") != std::string::npos, v.failure->report);
  }

  TEST_CASE("an execution that never ends is inconclusive, and says who is busy") {
    auto const line = std::source_location::current().line() + 1;
    verdict const v = explore({.executions = 2, .most_decisions = 200}, [](world& w) {
      auto words = w.allocate<std::uint32_t>(2, "words");
      for (std::size_t const i : {0, 1})
        w.start(i == 0 ? "a" : "b", [at = words.global() + i](world_core& self) {
          for (;;)
            self.store(at, self.load(at) + 1);
        });
      w.join();
    });
    CHECK(!v); // nothing was shown
    CHECK(!v.failure);
    CHECK(v.to_string().starts_with("OPEN  explore_ends_test.cpp:" + std::to_string(line) +
                                    ": nothing came to its end in 2 executions"));
    CHECK(v.inconclusive == 2);
    CHECK(v.to_string().find("2 inconclusive") != std::string::npos);
    CHECK(v.busiest.find("explore_ends_test.cpp") != std::string::npos);
  }

  TEST_CASE("who is still at work at the limit has not been explored, though it ends soon after") {
    for (char const* const strategy : {"swarm", "random_walk", "pct", "boring"})
      for (bool const is_long : {false, true}) {
        CAPTURE(strategy);
        verdict const v =
            explore({.executions = 20, .strategy = strategy, .most_decisions = 200}, [=](world& w) {
              auto words = w.allocate<std::uint32_t>(32, "words");
              for (std::size_t const i : {0U, 16U})
                w.start("worker", [=, at = words.global() + i](world_core& self) {
                  for (int n = 0; n != (is_long ? 110 : 90); ++n)
                    self.fetch_add(at, 1, order::relaxed, scope::system);
                });
              w.join();
            });
        CHECK_MESSAGE(!v.failure, v.to_string());
        CHECK(v.is_open() == is_long);
      }
  }

  TEST_CASE("where every execution was cut off nothing is right, also after a single decision") {
    for (char const* const strategy : {"swarm", "random_walk", "pct", "exhaustive"})
      for (std::uint64_t const most : {1U, 2U, 3U}) {
        CAPTURE(strategy);
        CAPTURE(most);
        verdict const v =
            explore({.executions = 20, .strategy = strategy, .most_decisions = most}, [](world& w) {
              auto words = w.allocate<std::uint32_t>(32, "words");
              for (std::size_t const i : {0U, 16U})
                w.start("worker", [at = words.global() + i](world_core& self) {
                  for (int n = 0; n != 4; ++n)
                    self.fetch_add(at, 1, order::relaxed, scope::system);
                });
              w.join();
            });
        CHECK_MESSAGE(!v, v.to_string());
        CHECK(v.inconclusive == v.executions);
        CHECK(v.to_string().starts_with("OPEN  "));
      }
  }

  TEST_CASE("who is alone, and only waits at the limit, has been explored") {
    verdict const v = explore({.executions = 20, .most_decisions = 16}, [](world& w) {
      auto words = w.allocate<std::uint32_t>(32, "words");
      auto const flag = words.global();
      w.start("sets",
              [=](world_core& self) { self.store(flag, 1, order::relaxed, scope::system); });
      w.start("waits", [=](world_core& self) {
        while (self.load(flag, order::relaxed, scope::system) == 0) {
        }
      });
      w.join();
    });
    CHECK_MESSAGE(v, v.to_string());
    CHECK_FALSE(v.is_open());
  }

  TEST_CASE("there is an execution at least, and a decision in it") {
    CHECK_THROWS_WITH_AS(static_cast<void>(explore({.executions = 0}, [](world&) {})),
                         "explore: no executions; there is at least 1", std::invalid_argument);
    CHECK_THROWS_WITH_AS(static_cast<void>(explore({.most_decisions = 0}, [](world&) {})),
                         "explore: an execution of no decisions; most_decisions is at least 1",
                         std::invalid_argument);
  }

  TEST_CASE(
      "where more than a tenth is cut off, a verdict is open: what the others did is no answer") {
    auto const cut_off = [](int how_many) {
      int number = 0;
      return explore({.executions = 40, .most_decisions = 200, .runs_repeated = true},
                     [&number, how_many](world& w) {
                       auto words = w.allocate<std::uint32_t>(1, "words");
                       auto const at = words.global();
                       bool const is_cut = number++ < how_many;
                       w.start("a", [=](world_core& self) {
                         do
                           self.store(at, self.load(at) + 1);
                         while (is_cut);
                       });
                       w.join();
                     });
    };
    verdict const few = cut_off(4);
    CHECK(few);
    CHECK_FALSE(few.is_open());
    CHECK(few.to_string().starts_with("OK    "));
    CHECK_MESSAGE(few.to_string().find("; 4 inconclusive: cut off by the limit (busiest: a at ") !=
                      std::string::npos,
                  few.to_string());
    verdict const many = cut_off(5);
    CHECK(many); // nothing has failed
    CHECK(many.is_open());
    std::string const text = many.to_string();
    CHECK_MESSAGE(text.starts_with("OPEN  "), text);
    CHECK_MESSAGE(text.find(": no failure, but much is not known, in 40 executions in ") !=
                      std::string::npos,
                  text);
    CHECK_MESSAGE(text.find("; 5 inconclusive: cut off by the limit") != std::string::npos, text);
  }

  TEST_CASE(
      "so is a kernel that never ends: the launch that waits for it takes it for no deadlock") {
    verdict const v = explore({.executions = 2, .most_decisions = 200}, [](world& w) {
      explored_agent gpu(w.scheduler(),
                         {.compute_units = 2, .wavefront_slots = 1, .wavefront_size = 32});
      auto words = gpu.allocate<std::uint32_t>(64, "words");
      static_cast<void>(gpu.run({.work_items = 64, .work_items_per_group = 32}, count_for_ever{},
                                words.global()));
    });
    CHECK_MESSAGE(!v.failure, v.to_string());
    CHECK(v.inconclusive == 2);
  }

  TEST_CASE("who goes through memory that nobody writes is cut off, and no livelock") {
    verdict const v = explore({.executions = 4, .most_decisions = 1'000}, [](world& w) {
      auto words = w.allocate<std::uint32_t>(2'000, "words");
      for (char const* const name : {"a", "b"})
        w.start(name, [&, at = words.global()](world_core& self) {
          std::uint32_t sum = 0;
          for (int i = 0; i != 2'000; ++i)
            sum += self.load(at + i);
          w.check(sum == 0, "somebody has written");
        });
      w.join();
    });
    CHECK_MESSAGE(!v.failure, v.to_string());
    CHECK(v.inconclusive == 4);
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
    CHECK_FALSE(right.is_open());
  }
}

// SPDX-License-Identifier: Apache-2.0
// What actors throw under explore(), and who is told to have thrown it.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/event.hpp>
#include <quarry/nursery.hpp>
#include <quarry/when_all.hpp>
#include <quarry/yield.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace {

using namespace quarry;
using namespace quarry::emu;

struct awaits_one {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> flag) const {
    auto const is_one = [](std::uint32_t f) { return f == 1; };
    static_cast<void>(co_await wf.wait_until(flag, is_one, order::acquire, scope::system));
  }
};

/// That the failure is what a file which is not there has made an actor throw.
void check_told(verdict const& v, std::string_view begins, std::string_view names) {
  REQUIRE_MESSAGE(v.failure, v.to_string());
  CHECK(v.failure->kind == "exception");
  CHECK(v.failure->where == "no such file");
  std::string const& text = v.failure->report;
  CHECK_MESSAGE(text.starts_with(begins), text);
  CHECK_MESSAGE(text.find(names) != std::string::npos, text);
}

} // namespace

TEST_SUITE("emu.explore_thrown") {
  TEST_CASE("what an actor throws is told, and by whom, also where others wait or spin for it") {
    for (bool const spins : {false, true}) {
      CAPTURE(spins);
      verdict const v =
          explore({.executions = 20, .most_decisions = 400, .diagnoses = false}, [spins](world& w) {
            auto flag = w.allocate<std::uint32_t>(1, "flag");
            auto const at = flag.global();
            w.start("producer", [](world_core&) { throw std::runtime_error("no such file"); });
            auto const is_set = [](std::uint32_t f) { return f == 1; };
            w.start_task("consumer", [=](world_core& self) -> task<> {
              if (!spins)
                co_await self.wait_until(at, is_set, order::acquire, scope::system);
              while (self.load(at, order::acquire, scope::system) == 0) {
              }
            });
            w.join();
          });
      check_told(
          v, "no such file\n  thrown by producer; others do not come to their end: ", "consumer");
    }
  }

  TEST_CASE("a child that outlives its nursery is a failure, by whoever comes first") {
    auto const explored = [](bool joins) {
      return explore({.executions = 50, .diagnoses = false, .keeps_failures = false},
                     [=](world& w) {
                       strand place(w.scheduler(), "place");
                       bool has_ended = false;
                       auto const child = [&has_ended]() -> task<> {
                         co_await yield();
                         has_ended = true;
                       };
                       {
                         nursery n;
                         n.start(place, child(), "orphan");
                         if (joins)
                           n.wait(w.scheduler());
                       }
                       static_cast<void>(w.scheduler().run_until([&] { return has_ended; }));
                       static_cast<void>(w.scheduler().run_until([] { return false; }));
                     });
    };
    verdict const v = explored(false);
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK(v.failure->kind == "misuse");
    CHECK(v.failure->report.starts_with(
        "misuse: the nursery of \"orphan\" died before it was joined"));
    verdict const joined = explored(true);
    CHECK_MESSAGE(joined, joined.to_string());
  }

  TEST_CASE("what is thrown behind a failed check is told beside it") {
    for (bool const by_actor : {false, true}) {
      verdict const v =
          explore({.executions = 5, .diagnoses = false, .keeps_failures = false}, [=](world& w) {
            w.check(false, "a peer is lost");
            auto const fail = [] { throw std::runtime_error("no such file"); };
            if (!by_actor)
              fail();
            w.start("reader", [=](world_core&) { fail(); });
            w.join();
          });
      REQUIRE_MESSAGE(v.failure, v.to_string());
      CHECK(v.failure->kind == "check");
      std::string const who = by_actor ? "reader" : "the world";
      CHECK_MESSAGE(v.failure->report.find("  ended    by what " + who +
                                           " has thrown: no such file\n") != std::string::npos,
                    v.failure->report);
    }
  }

  TEST_CASE("so it is where a kernel waits for it") {
    verdict const v = explore({.executions = 60, .diagnoses = false}, [](world& w) {
      agent gpu(w.scheduler());
      auto flag = w.allocate<std::uint32_t>(1, "flag");
      w.start("producer", [](world_core&) { throw std::runtime_error("no such file"); });
      static_cast<void>(gpu.run({.work_items = 32}, awaits_one{}, flag.global()));
      w.join();
    });
    check_told(v, "no such file\n  thrown by producer; others do not come to their end: ",
               "wavefront 0 of group 0");
  }

  TEST_CASE("so it is where a child has, and its parent, or another child, waits for it") {
    for (bool const is_parent : {true, false}) {
      CAPTURE(is_parent);
      verdict const v = explore({.executions = 20, .diagnoses = false}, [&](world& w) {
        strand place(w.scheduler(), "place");
        event never_set;
        auto const throws = []() -> task<> {
          co_await yield();
          throw std::runtime_error("no such file");
        };
        auto const waits = [&]() -> task<> { co_await never_set.wait(); };
        w.start_task("parent", [&](world_core&) -> task<> {
          if (is_parent) {
            nursery n;
            n.start(place, throws(), "reader");
            co_await waits();
          } else {
            auto both = when_all(throws(), waits());
            co_await std::move(both);
          }
        });
        w.join();
      });
      check_told(v,
                 is_parent
                     ? "no such file\n  thrown by reader; others do not come to their end: "
                     : "no such file\n  thrown by parent/0; others do not come to their end: ",
                 is_parent ? "parent" : "parent/1");
    }
  }

  TEST_CASE("what nobody can hear any more is no reason of a deadlock") {
    for (bool const throws_number : {false, true}) {
      CAPTURE(throws_number);
      verdict const v =
          explore({.executions = 20, .diagnoses = false, .keeps_failures = false}, [&](world& w) {
            strand place(w.scheduler(), "place");
            auto const throws = [&](char const* what) -> task<> {
              if (throws_number)
                throw 1;
              throw std::runtime_error(what);
              co_return;
            };
            nursery n;
            n.start(place, throws("first"), "one");
            n.start(place, throws("second"), "other");
            try {
              n.wait(w.scheduler());
            } catch (...) { // one is enough
            }
            event never_set;
            w.start_task("waits", [&](world_core&) -> task<> { co_await never_set.wait(); });
            w.join();
          });
      REQUIRE_MESSAGE(v.failure, v.to_string());
      CHECK(v.failure->kind == "deadlock");
    }
  }

  TEST_CASE("who has thrown is told, too, where all others come to their ends") {
    verdict const v = explore({.executions = 20, .diagnoses = false}, [](world& w) {
      w.start("bystander", [](world_core&) {});
      w.start("producer", [](world_core&) { throw std::runtime_error("no such file"); });
      w.join();
    });
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK(v.failure->report.starts_with("no such file\n  thrown by producer"));
    verdict const own = explore({.executions = 20, .diagnoses = false}, [](world& w) {
      w.start("producer", [](world_core&) { throw std::runtime_error("its own"); });
      try {
        w.join();
      } catch (std::runtime_error const&) {
        throw std::logic_error("the world's");
      }
    });
    REQUIRE_MESSAGE(own.failure, own.to_string());
    CHECK(own.failure->report.starts_with("the world's"));
    CHECK(own.failure->report.find("thrown by") == std::string::npos);
  }

  TEST_CASE("an actor that uses another one's core is told so, and what it does is not done") {
    verdict const v = explore({.executions = 5, .diagnoses = false}, [](world& w) {
      auto flag = w.allocate<std::uint32_t>(1, "flag");
      w.start("producer", [&, at = flag.global()](world_core&) { w.host().store(at, 1); });
      w.join();
    });
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK_MESSAGE(v.failure->report.starts_with("an operation of host in a turn of producer: "),
                  v.failure->report);
    CHECK(v.failure->report.find("thrown by producer") != std::string::npos);
  }

  TEST_CASE("so is a thread that uses the core of the actor which has made it") {
    verdict const v = explore({.executions = 5, .diagnoses = false}, [](world& w) {
      auto flag = w.allocate<std::uint32_t>(1, "flag");
      w.start("producer", [&](world_core& self) {
        std::exception_ptr refused;
        std::thread([&, at = flag.global()] {
          try {
            self.store(at, 1);
          } catch (...) {
            refused = std::current_exception();
          }
        }).join();
        if (refused)
          std::rethrow_exception(refused);
      });
      w.join();
    });
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK_MESSAGE(v.failure->report.starts_with("an operation of producer in a thread that runs "
                                                "none of the actors: "),
                  v.failure->report);
  }

  TEST_CASE("what a world catches is no failure, also where an execution is given up before") {
    auto const catches = [](explore_options o, int updates) {
      o.diagnoses = o.keeps_failures = false;
      return explore(o, [updates](world& w) {
        auto words = w.allocate<std::uint32_t>(1, "words");
        auto const add = [at = words.global()](world_core& self) {
          self.fetch_add(at, 1, order::relaxed, scope::system);
        };
        w.start("thrower", [add](world_core& self) {
          add(self);
          throw std::runtime_error("no such file");
        });
        w.start("other", [add, updates](world_core& self) {
          for (int i = 0; i < updates; ++i)
            add(self);
        });
        bool has_caught = false;
        try {
          w.join();
        } catch (std::runtime_error const&) {
          has_caught = true;
        }
        w.check(has_caught, "nothing was thrown");
        w.join();
      });
    };
    for (bool const reduces : {false, true})
      for (bool const hashes : {false, true}) {
        if (reduces && hashes)
          continue;
        verdict const v =
            catches({.strategy = "exhaustive", .reduces = reduces, .hashes_states = hashes}, 2);
        CHECK_MESSAGE(v, v.to_string());
        CHECK(v.is_complete);
        CHECK(v.divergence.empty());
      }
    verdict const cut = catches({.executions = 5, .most_decisions = 600}, 1'200);
    CHECK_MESSAGE(!cut.failure, cut.to_string());
    CHECK(cut.inconclusive == 5);
    CHECK_MESSAGE(cut.busiest.ends_with("; thrower has thrown: no such file"), cut.busiest);
  }

  TEST_CASE("what is thrown is told also where something waits in vain on its way out") {
    for (bool const is_actor : {false, true}) {
      CAPTURE(is_actor);
      verdict const v = explore({.executions = 5, .diagnoses = false}, [is_actor](world& w) {
        explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
        auto words = gpu.allocate<std::uint32_t>(32, "words");
        auto const open = [&](world_core& self) {
          auto const waits = gpu.launch({.work_items = 1}, awaits_one{}, words.global());
          if (self.load(words.global() + 16) == 0)
            throw std::runtime_error("no such file");
          self.store(words.global(), 1, order::release, scope::system);
        };
        if (!is_actor)
          open(w.host());
        w.start("opener", open);
        w.join();
      });
      check_told(v, "no such file", "others do not come to their end: deadlock: ");
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
// Children on strands of a world's own, whose executions end without them, or whose nurseries do:
// what they wait for may have gone before their strands.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/event.hpp>
#include <quarry/mutex.hpp>
#include <quarry/nursery.hpp>
#include <quarry/semaphore.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace quarry;

task<> passes(mutex& m) {
  auto const lock = co_await m.lock();
}

task<> holds_until(mutex& m, event& e) {
  auto const lock = co_await m.lock();
  co_await e.wait();
}

/// Strands that outlive what their actors use.
struct parts {
  explicit parts(world& w)
      : a(w.scheduler(), "a"), b(w.scheduler(), "b"), lock(std::make_unique<mutex>()),
        never(std::make_unique<event>()) {}
  strand a, b;
  std::unique_ptr<mutex> lock;
  std::unique_ptr<event> never;
};

/// By a random search, and by each exhaustive one.
void for_each_search(std::function<void(world&)> const& function,
                     std::function<void(verdict const&)> const& look) {
  for (std::string const how : {"random", "full", "reduced", "hashed"}) {
    CAPTURE(how);
    verdict const v = explore({.executions = 2000,
                               .strategy = how == "random" ? "swarm" : "exhaustive",
                               .reduces = how == "reduced",
                               .hashes_states = how == "hashed",
                               .diagnoses = false,
                               .keeps_failures = false},
                              function);
    CAPTURE(v.to_string());
    look(v);
  }
}

void check_fails(std::function<void(world&)> const& function, std::string const& kind,
                 std::vector<std::string> const& said) {
  for_each_search(function, [&](verdict const& v) {
    REQUIRE(v.failure);
    CHECK(v.failure->kind == kind);
    for (std::string const& text : said)
      CHECK_MESSAGE(v.failure->report.find(text) != std::string::npos, text);
  });
}

constexpr char const* died_early = "misuse: the nursery of \"child\" died before it was joined";

} // namespace

TEST_SUITE("emu.explore_orphans") {
  TEST_CASE("children that come to their end") {
    for_each_search(
        [](world& w) {
          parts its(w);
          nursery n;
          n.start(its.a, passes(*its.lock), "first");
          n.start(its.b, passes(*its.lock), "second");
          n.wait(w.scheduler());
        },
        [](verdict const& v) { CHECK(static_cast<bool>(v)); });
  }

  TEST_CASE("children that wait for ever") {
    check_fails(
        [](world& w) {
          parts its(w);
          nursery n;
          n.start(its.a, holds_until(*its.lock, *its.never), "first");
          n.start(its.b, holds_until(*its.lock, *its.never), "second");
          n.wait(w.scheduler());
        },
        "deadlock", {"2 children do not come to an end", "event 1", "mutex 1"});
  }

  TEST_CASE("children of a thread of the world's, on a strand of its own") {
    check_fails(
        [](world& w) {
          w.start_task("parent", [&w](world_core&) -> task<> {
            parts its(w);
            nursery n;
            n.start(its.a, holds_until(*its.lock, *its.never), "first");
            n.start(its.a, passes(*its.lock), "second");
            co_await n.join();
          });
          w.join();
        },
        "deadlock", {"nobody can go on", "event 1", "nursery 1"});
  }

  TEST_CASE("children of children, on the strands that were there before") {
    check_fails(
        [](world& w) {
          parts its(w);
          auto const parent = [&its]() -> task<> {
            auto const mine = std::make_unique<mutex>();
            nursery n;
            n.start(its.a, holds_until(*mine, *its.never), "grandchild");
            n.start(its.b, passes(*mine), "grandchild");
            co_await n.join();
          };
          nursery n;
          n.start(its.b, parent(), "parent");
          n.start(its.a, parent(), "parent");
          n.wait(w.scheduler());
        },
        "deadlock", {"2 children do not come to an end", "grandchild"});
  }

  TEST_CASE("actors that nobody joins") {
    check_fails(
        [](world& w) {
          parts its(w);
          its.a.spawn(holds_until(*its.lock, *its.never), "alone");
          w.start_task("waits", [&its](world_core&) { return passes(*its.lock); });
          its.b.spawn(holds_until(*its.lock, *its.never), "alone");
          w.start_task("waits", [&its](world_core&) -> task<> { co_await its.never->wait(); });
          w.join();
        },
        "deadlock", {"nobody can go on", "alone"});
  }

  TEST_CASE("a nursery that goes before a child that waits for ever") {
    check_fails(
        [](world& w) {
          parts its(w);
          nursery n;
          n.start(its.a, holds_until(*its.lock, *its.never), "child");
          w.start("other", [](world_core&) {});
          w.join();
        },
        "misuse", {died_early});
  }

  TEST_CASE("one that an exception leaves, which ends the world: that is the failure") {
    check_fails(
        [](world& w) {
          parts its(w);
          nursery n;
          n.start(its.a, holds_until(*its.lock, *its.never), "first");
          n.start(its.b, holds_until(*its.lock, *its.never), "second");
          w.start("other", [](world_core&) {});
          w.join();
          throw std::runtime_error("no such file");
        },
        "exception", {"no such file"});
  }

  TEST_CASE("one that an exception leaves, which somebody catches: natively its child goes on") {
    check_fails(
        [](world& w) {
          parts its(w);
          try {
            nursery n;
            n.start(its.a, passes(*its.lock), "child");
            throw std::runtime_error("no such file");
          } catch (std::runtime_error const&) {
          }
          w.start("other", [](world_core&) {});
          w.join();
        },
        "misuse", {died_early});
  }

  TEST_CASE("one that a child of its own holds last") {
    check_fails(
        [](world& w) {
          parts its(w);
          auto shared = std::make_shared<nursery>();
          auto const child = [](std::shared_ptr<nursery> kept) -> task<> {
            co_await yield();
            kept = nullptr;
          };
          shared->start(its.a, child(shared), "child");
          shared = nullptr;
          static_cast<void>(w.scheduler().run_until([] { return false; }));
        },
        "misuse", {died_early});
  }
}

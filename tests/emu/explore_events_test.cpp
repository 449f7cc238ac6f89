// SPDX-License-Identifier: Apache-2.0
// Exploration of actors that wait with what has an order, or has none: events, latches, barriers.
#include "agents.hpp"
#include "explored_ends.hpp"

#include <quarry/barrier.hpp>
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/event.hpp>
#include <quarry/latch.hpp>
#include <quarry/nursery.hpp>
#include <quarry/strand.hpp>
#include <quarry/yield.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace quarry_test;

namespace {

constexpr search all_searches[] = {search::everything, search::reduced, search::hashed};

void start(world& w, std::string name, std::function<task<>()> f) {
  w.start_task(std::move(name), [f = std::move(f)](world_core&) { return f(); });
}

/// What an exhaustive exploration of the world comes to, whatever is left out.
void check_kind(std::string const& kind, std::function<void(world&)> const& f) {
  for (search const how : all_searches) {
    explore_options o = options_of(how, {});
    o.diagnoses = o.keeps_failures = false;
    verdict const v = explore(o, f);
    CHECK_MESSAGE((v.failure ? v.failure->kind : "") == kind, v.to_string());
  }
}

} // namespace

TEST_SUITE("emu.explore_events") {
  TEST_CASE("a wait may come before a reset, or after it") {
    check_kind("deadlock", [](world& w) {
      event e;
      start(w, "resets", [&]() -> task<> {
        e.set();
        co_await yield();
        e.reset();
      });
      start(w, "waits", [&]() -> task<> { co_await e.wait(); });
      w.join();
    });
    check_kind("deadlock", [](world& w) {
      event one, other;
      start(w, "first", [&]() -> task<> {
        one.set();
        co_await yield();
        one.reset();
        co_await other.wait();
      });
      start(w, "second", [&]() -> task<> {
        other.set();
        co_await one.wait();
      });
      w.join();
    });
  }

  TEST_CASE("a reset may come before a set, or after it") {
    check_kind("deadlock", [](world& w) {
      event e;
      start(w, "resets", [&]() -> task<> {
        e.reset();
        co_return;
      });
      start(w, "sets", [&]() -> task<> {
        e.set();
        co_return;
      });
      w.join();
      start(w, "waits", [&]() -> task<> { co_await e.wait(); });
      w.join();
    });
  }

  TEST_CASE("what resets and waits come to is the same, whatever is left out") {
    shape const what = [](world& w, words& seen) {
      auto memory = w.allocate<std::uint64_t>(1, "word");
      event e;
      e.set();
      for (std::size_t const who : {0U, 1U})
        w.start_task("waits", [&, who](world_core& self) -> task<> {
          co_await e.wait();
          seen[who] = self.load(memory.global(), order::relaxed, scope::system);
        });
      w.start("resets", [&](world_core& self) {
        e.reset();
        self.store(memory.global(), 1, order::relaxed, scope::system);
        e.set();
      });
      w.join();
    };
    explored_all const full = all_of(what, search::everything);
    CHECK(full.seen.size() == 4);
    CHECK(all_of(what, search::reduced).seen == full.seen);
    CHECK(all_of(what, search::hashed).seen == full.seen);
  }

  TEST_CASE("waits and sets of an event that nobody resets are not tried in every order") {
    shape const passes_on = [](world& w, words& seen) {
      event e[3];
      e[0].set();
      for (std::size_t const i : {0U, 1U})
        start(w, "passes on", [&, i]() -> task<> {
          co_await e[i].wait();
          e[i + 1].set();
          ++seen[i];
        });
      w.join();
    };
    CHECK(all_of(passes_on, search::reduced).executions <
          all_of(passes_on, search::everything).executions);
  }

  TEST_CASE("whoever of three comes last to what is for two is found") {
    for (search const how : all_searches) {
      shape const meet = [&](world& w, words& seen) {
        latch two(2);
        for (std::size_t who = 0; who < 3; ++who)
          start(w, std::to_string(who), [&, who]() -> task<> {
            try {
              two.count_down();
            } catch (std::invalid_argument const&) {
              seen[who] = 1;
            }
            co_return;
          });
        w.join();
      };
      CHECK(all_of(meet, how).seen.size() == 3);
    }
  }

  TEST_CASE("whoever of three finds nobody left to meet is found") {
    for (search const how : all_searches) {
      std::set<std::size_t> alone;
      shape const meet = [&](world& w, words&) {
        barrier two(2);
        std::size_t met = 0, sum = 0;
        for (std::size_t who = 0; who < 3; ++who)
          start(w, std::to_string(who), [&, who]() -> task<> {
            co_await two.arrive_and_wait();
            sum += who;
            if (++met != 2)
              co_return;
            alone.insert(3 - sum);
            co_await two.arrive_and_wait(); // or that one would wait for ever
          });
        w.join();
      };
      all_of(meet, how);
      CHECK(alone.size() == 3);
    }
  }

  TEST_CASE(
      "which of two children throws first is found, though neither wakes who waits for them") {
    shape const children = [](world& w, words& seen) {
      strand place(w.scheduler(), "place");
      auto const child = [](std::size_t who) -> task<> {
        co_await yield();
        throw std::out_of_range(who == 0 ? "a" : "b");
      };
      nursery n;
      for (std::size_t const who : {0U, 1U})
        n.start(place, child(who), "child");
      try {
        n.wait(w.scheduler()); // asks now and then
      } catch (std::out_of_range const& e) {
        seen[0] = static_cast<std::uint64_t>(e.what()[0]);
      }
    };
    for (search const how : all_searches)
      CHECK(all_of(children, how).seen.size() == 2);
  }
}

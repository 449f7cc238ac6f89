// SPDX-License-Identifier: Apache-2.0
// Exploration of actors that lock, or take one of a few units.
#include "agents.hpp"
#include "explored_ends.hpp"
#include "message_world.hpp"

#include <quarry/barrier.hpp>
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/event.hpp>
#include <quarry/latch.hpp>
#include <quarry/mutex.hpp>
#include <quarry/nursery.hpp>
#include <quarry/semaphore.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

using namespace quarry_test;

TEST_SUITE("emu.explore_locks") {
  TEST_CASE("what they come to is the same, whatever is left out") {
    auto const read = [](world_core& self, at x, std::uint64_t& saw) {
      saw = saw * 7 + self.load(x) + 1;
      self.store(x, saw);
    };
    std::vector<named> const worlds{
        {"each in turn",
         [=](world& w, words& seen) {
           auto memory = w.allocate<std::uint64_t>(1, "word");
           quarry::mutex m;
           for (std::size_t who = 0; who < 2; ++who)
             w.start_task(std::to_string(who), [&, who](world_core& self) -> task<> {
               auto const held = co_await m.lock();
               self.fence(order::acquire, scope::system);
               seen[who] = who + 1;
               read(self, memory.global(), seen[who]);
               self.fence(order::seq_cst, scope::system); // now: a mutex orders no memory
             });
           w.join();
         }},
        {"two at a time",
         [=](world& w, words& seen) {
           quarry::semaphore units(2);
           for (std::size_t who = 0; who < 3; ++who)
             w.start_task(std::to_string(who), [&, who](world_core&) -> task<> {
               co_await units.acquire();
               seen[3] = seen[3] * 3 + who; // who came when
               units.release();
             });
           w.join();
         }},
    };
    for (auto const& [name, what] : worlds) {
      CAPTURE(name);
      bool const has_two = name == worlds[0].name; // of three there are 750 000 executions
      search_bounds const most = has_two ? search_bounds{} : search_bounds{.preemptions = 3};
      explored_all const full = all_of(what, search::everything, most);
      CHECK(full.seen.size() == (has_two ? 2 : 6));
      CHECK(all_of(what, search::reduced).seen == full.seen);
      CHECK(all_of(what, search::hashed).seen == full.seen);
    }
  }

  TEST_CASE("who is woken, or started, may be the first at a lock") {
    struct shared {
      quarry::event ready;
      quarry::latch gone{1};
      quarry::mutex m;
      quarry::semaphore units{1};
      std::string order; ///< of those who came
    };
    auto const lock = [](shared& s, char who) -> task<> {
      auto const held = co_await s.m.lock();
      s.order += who;
    };
    auto const acquire = [](shared& s, char who) -> task<> {
      co_await s.units.acquire();
      s.order += who;
      s.units.release();
    };
    using take = std::function<task<>(shared&, char)>;
    for (take const& takes : {take(lock), take(acquire)})
      for (int how = 0; how < 3; ++how)
        for (search const by : {search::everything, search::reduced, search::hashed}) {
          CAPTURE(how);
          CAPTURE(static_cast<int>(by));
          std::set<std::string> orders;
          verdict const v = explore(options_of(by, {}), [&](world& w) {
            shared s;
            nursery n;
            strand elsewhere(w.scheduler(), "elsewhere");
            w.start_task("other", [&](world_core&) -> task<> {
              if (how == 0)
                co_await s.ready.wait();
              if (how == 1)
                co_await s.gone.wait();
              if (how != 2)
                co_await takes(s, 'o');
            });
            w.start_task("one", [&](world_core&) -> task<> {
              if (how == 0)
                s.ready.set();
              if (how == 1)
                s.gone.count_down();
              if (how == 2)
                n.start(elsewhere, takes(s, 'o'), "started");
              co_await takes(s, '1');
              co_await n.join();
            });
            w.join();
            orders.insert(s.order);
          });
          CHECK_MESSAGE(v, v.to_string());
          CHECK(v.is_complete);
          CHECK(orders == std::set<std::string>{"1o", "o1"});
        }
  }

  TEST_CASE("who has met takes locks in any order, whatever is left out") {
    for (bool const at_a_latch : {true, false})
      for (search const by : {search::everything, search::reduced, search::hashed}) {
        CAPTURE(at_a_latch);
        CAPTURE(static_cast<int>(by));
        std::set<std::string> orders;
        verdict const v = explore(options_of(by, {}), [&](world& w) {
          quarry::barrier barrier(2);
          quarry::latch latch(2);
          quarry::mutex m;
          std::string order;
          for (std::string const who : {"a", "b"})
            w.start_task(who, [&, who](world_core&) -> task<> {
              if (at_a_latch)
                co_await latch.arrive_and_wait();
              else
                co_await barrier.arrive_and_wait();
              auto const held = co_await m.lock();
              order += who;
            });
          w.join();
          orders.insert(order);
        });
        CHECK_MESSAGE(v, v.to_string());
        CHECK(v.is_complete);
        CHECK(orders == std::set<std::string>{"ab", "ba"});
      }
  }

  TEST_CASE("two that lock crosswise are a deadlock, whatever is left out") {
    for (search const how : {search::everything, search::reduced, search::hashed}) {
      explore_options options = options_of(how, {});
      options.diagnoses = false;
      verdict const v = explore(options, [](world& w) {
        quarry::mutex one, other;
        auto const lock_both = [](quarry::mutex& first, quarry::mutex& second) {
          return [&](world_core&) -> task<> {
            auto const held = co_await first.lock();
            auto const both = co_await second.lock();
          };
        };
        w.start_task("left", lock_both(one, other));
        w.start_task("right", lock_both(other, one));
        w.join();
      });
      REQUIRE(v.failure);
      CHECK(v.failure->kind == "deadlock");
      CHECK_SAYS(v.failure->report, "left    left   mutex at explore_locks_test.cpp:");
      CHECK_SAYS(v.failure->report, "right   right  mutex at explore_locks_test.cpp:");
      CHECK_SAYS(v.failure->report, "host   join at explore_locks_test.cpp:");
      CHECK_SAYS(v.failure->report, "\ncycle: left -> right -> left\n");
    }
  }
}

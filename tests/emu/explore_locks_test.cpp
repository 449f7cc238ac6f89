// SPDX-License-Identifier: Apache-2.0
// Exploration of actors that lock, or take one of a few units.
#include "agents.hpp"
#include "explored_ends.hpp"
#include "message_world.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/mutex.hpp>
#include <quarry/semaphore.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
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
           for (std::size_t who = 0; who < 3; ++who)
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
           auto memory = w.allocate<std::uint64_t>(2, "words");
           quarry::semaphore units(2);
           for (std::size_t who = 0; who < 3; ++who)
             w.start_task(std::to_string(who), [&, who](world_core& self) -> task<> {
               co_await units.acquire();
               seen[3] = seen[3] * 3 + who; // who came when
               self.store(memory.global() + who % 2, who, order::relaxed, scope::system);
               units.release();
             });
           w.join();
         }},
    };
    for (auto const& [name, what] : worlds) {
      CAPTURE(name);
      explored_all const full = all_of(what, search::everything);
      CHECK(full.seen.size() == 6);
      CHECK(all_of(what, search::reduced).seen == full.seen);
      CHECK(all_of(what, search::hashed).seen == full.seen);
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

// SPDX-License-Identifier: Apache-2.0
#include "scheduler_contract.hpp"

#include <quarry/event.hpp>
#include <quarry/nursery.hpp>
#include <quarry/sync_wait.hpp>
#include <quarry/yield.hpp>

#include <memory>
#include <thread>
#include <vector>

using namespace quarry;
using namespace quarry_test;

namespace {

task<> note_after(event& e, std::vector<int>& order, int me) {
  co_await e.wait();
  order.push_back(me);
}

task<> set_later(event& e) {
  co_await yield();
  e.set();
}

task<> ping(event& mine, event& theirs, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    co_await mine.wait();
    mine.reset();
    theirs.set();
  }
}

task<> wait_on(std::shared_ptr<event> e) {
  event& alive = *e;
  co_await alive.wait();
}

} // namespace

TEST_SUITE("lib.event") {
  TEST_CASE("set releases all who wait, in the order in which they came, and who comes later") {
    with_every_scheduler([](executor& s) {
      strand place(s, "place");
      event e;
      std::vector<int> order;
      nursery n;
      for (int i = 0; i < 5; ++i)
        n.start(place, note_after(e, order, i), "waiter");
      n.start(place, set_later(e), "setter");
      n.wait(s);
      CHECK(order.size() == 5);
      CHECK(e.is_set());
      sync_wait(place, note_after(e, order, 5));
      CHECK(order.back() == 5);
    });
  }

  TEST_CASE("waiters that came one by one are released one by one") {
    native_scheduler s({.threads = 1});
    strand place(s, "place");
    event e;
    std::vector<int> order;
    nursery n;
    for (int i = 0; i < 5; ++i)
      n.start(place, note_after(e, order, i), "waiter");
    n.start(place, set_later(e), "setter");
    n.wait(s);
    CHECK(order == std::vector{0, 1, 2, 3, 4});
  }

  TEST_CASE("two strands hand a pair of events to and fro without losing one") {
    with_every_scheduler([](executor& s) {
      strand a(s, "a");
      strand b(s, "b");
      event to_a;
      event to_b;
      nursery n;
      n.start(a, ping(to_a, to_b, 2000), "a");
      n.start(b, ping(to_b, to_a, 2000), "b");
      to_a.set();
      n.wait(s);
      CHECK(to_a.is_set());
      CHECK_FALSE(to_b.is_set());
    });
  }

  TEST_CASE("a thread that is no worker may set it, and the waiter may destroy it at once") {
    native_scheduler s({.threads = 2});
    strand place(s, "place");
    for (int i = 0; i < 500; ++i) {
      auto e = std::make_unique<event>();
      event* const raw = e.get();
      auto const destroys = [](std::unique_ptr<event> owned) -> task<> {
        event& alive = *owned;
        co_await alive.wait();
        owned.reset();
      };
      std::thread setter([raw] { raw->set(); });
      sync_wait(place, destroys(std::move(e)));
      setter.join();
    }
  }

  TEST_CASE("waiters may die before the event, and the event before its waiters") {
    with_every_scheduler(
        [](executor& s) {
          auto e = std::make_shared<event>();
          {
            strand place(s, "place");
            place.spawn(wait_on(e), "in vain");
            CHECK_FALSE(s.run_until([] { return false; }));
          }
          e->set(); // nobody is left to be woken
          strand place(s, "place");
          event& later = *new event;
          std::vector<int> order;
          place.spawn(note_after(later, order, 1), "in vain");
          CHECK_FALSE(s.run_until([] { return false; }));
          delete &later;
        },
        std::chrono::milliseconds(20));
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "scheduler_contract.hpp"

#include <quarry/nursery.hpp>
#include <quarry/sync_wait.hpp>
#include <quarry/this_actor.hpp>
#include <quarry/yield.hpp>

#include <atomic>
#include <memory>
#include <vector>

using namespace quarry;
using namespace quarry_test;

namespace {

task<> turns(std::vector<int>& order, int me) {
  for (int i = 0; i < 3; ++i) {
    order.push_back(me);
    co_await yield();
  }
}

task<> wait_for_value(std::atomic<int>& flag, int value) {
  co_await poll_until([&flag, value] { return flag == value; });
  ++flag;
}

task<> spin_by_yield(std::atomic<int>& flag, int value) {
  while (flag != value)
    co_await yield();
}

task<long> owns_its_predicate(std::weak_ptr<int>& watched) {
  auto flag = std::make_shared<int>(0);
  watched = flag;
  auto is_over = [flag = std::move(flag)] { return *flag == 1; };
  bool const has_waited = co_await poll_until(std::move(is_over));
  CHECK(has_waited);
  bool const waits_for_nothing = co_await poll_until([] { return true; });
  CHECK(!waits_for_nothing);
  co_return watched.use_count(); // the awaiter is gone, and `is_over` has been moved from
}

task<> set_watched(std::weak_ptr<int>& watched, long& owners) {
  while (watched.expired())
    co_await yield();
  owners = watched.use_count();
  *watched.lock() = 1;
}

task<bool> knows_itself(strand& home) {
  actor& self = co_await this_actor();
  co_return self.home == &home&& self.name() == "me";
}

} // namespace

TEST_SUITE("lib.yield") {
  TEST_CASE("yield lets the others of the strand go first, in turn") {
    for (int kind = 0; kind < 2; ++kind) {
      native_scheduler native({.threads = 1});
      sequential_scheduler sequential;
      executor& s = kind == 0 ? static_cast<executor&>(native) : sequential;
      strand place(s, "place");
      std::vector<int> order;
      nursery n;
      for (int i = 0; i < 3; ++i)
        n.start(place, turns(order, i), "actor");
      n.wait(s);
      CHECK(order == std::vector{0, 1, 2, 0, 1, 2, 0, 1, 2});
    }
  }

  TEST_CASE("a poller sees a write in the end, from its own strand or another") {
    with_every_scheduler([](executor& s) {
      strand a(s, "a");
      strand b(s, "b");
      std::atomic<int> flag{0};
      nursery n;
      for (int value = 20; value > 0; --value)
        n.start(value % 2 == 0 ? a : b, wait_for_value(flag, value), "poller");
      n.start(a, wait_for_value(flag, 0), "first");
      n.wait(s);
      CHECK(flag == 21);
    });
  }

  TEST_CASE("a poller is asked although the others of its strand never stop to yield") {
    with_every_scheduler([](executor& s) {
      strand place(s, "place");
      std::atomic<int> flag{0};
      nursery n;
      n.start(place, spin_by_yield(flag, 2), "spins");
      n.start(place, wait_for_value(flag, 1), "polls");
      n.start(place, wait_for_value(flag, 0), "writes");
      n.wait(s);
      CHECK(flag == 2);
    });
  }

  TEST_CASE("the predicate lives in the awaiter") {
    sequential_scheduler s;
    strand place(s, "place");
    std::weak_ptr<int> watched;
    long owners = 0;
    place.spawn(set_watched(watched, owners), "setter");
    CHECK(sync_wait(place, owns_its_predicate(watched)) == 0);
    CHECK(owners == 1);
  }

  TEST_CASE("this_actor is the one that runs the task") {
    sequential_scheduler s;
    strand place(s, "place");
    CHECK(sync_wait(place, knows_itself(place), "me"));
  }
}

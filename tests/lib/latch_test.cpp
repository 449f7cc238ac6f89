// SPDX-License-Identifier: Apache-2.0
#include "lone_actor.hpp"
#include "scheduler_contract.hpp"

#include <quarry/latch.hpp>
#include <quarry/nursery.hpp>
#include <quarry/yield.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <stdexcept>

using namespace quarry;
using namespace quarry_test;

namespace {

task<> arrive(latch& l, std::atomic<int>& arrived, bool& all_were_there, int expected) {
  ++arrived;
  co_await l.arrive_and_wait();
  all_were_there = all_were_there && arrived == expected;
}

task<> wait_only(latch& l, std::atomic<int>& arrived, int& seen) {
  co_await l.wait();
  seen = arrived;
}

/// Destroys the latch, and makes another one there, which waits for somebody.
task<> replace(latch& l, int& left) {
  co_await l.wait();
  std::destroy_at(&l);
  std::construct_at(&l, 1U);
  ++left;
}

/// As if the thread were interrupted within the arrival: the others go on in between.
task<> come_slowly(latch& l, int& left) {
  co_await yield();
  auto arrival = l.arrive_and_wait();
  for (int i = 0; i < 5; ++i)
    co_await yield();
  co_await arrival;
  ++left;
}

} // namespace

TEST_SUITE("lib.latch") {
  TEST_CASE("nobody passes before the count is zero, and nobody stays behind") {
    with_every_scheduler([](executor& s) {
      strand a(s, "a");
      strand b(s, "b");
      latch l(6);
      std::atomic<int> arrived{0};
      bool ok[6] = {true, true, true, true, true, true};
      int seen = 0;
      nursery n;
      n.start(a, wait_only(l, arrived, seen), "watcher");
      for (int i = 0; i < 6; ++i)
        n.start(i % 2 == 0 ? a : b, arrive(l, arrived, ok[i], 6), "arrival");
      n.wait(s);
      CHECK(seen == 6);
      for (bool one : ok)
        CHECK(one);
      CHECK(l.count() == 0);
    });
  }

  TEST_CASE("counting below zero is refused and changes nothing") {
    latch l(3);
    CHECK_THROWS_WITH_AS(l.count_down(4), "latch: count_down by 4, but only 3 are left",
                         std::invalid_argument);
    CHECK(l.count() == 3);
    l.count_down(3);
    auto const come_late = [](latch& all_there) -> task<> { co_await all_there.arrive_and_wait(); };
    CHECK_THROWS_AS(run_alone(come_late(l)), std::invalid_argument);
    CHECK(l.count() == 0);
  }

  TEST_CASE("who is released by the last arrival may destroy the latch at once") {
    sequential_scheduler s;
    strand place(s, "place");
    alignas(latch) std::byte room[sizeof(latch)];
    latch& l = *std::construct_at(reinterpret_cast<latch*>(room), 1U);
    int left = 0;
    nursery n;
    n.start(place, replace(l, left), "destroyer");
    n.start(place, come_slowly(l, left), "last to arrive");
    n.wait(s);
    CHECK(left == 2);
    std::destroy_at(&l);
  }
}

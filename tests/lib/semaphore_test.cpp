// SPDX-License-Identifier: Apache-2.0
#include "scheduler_contract.hpp"

#include <quarry/nursery.hpp>
#include <quarry/semaphore.hpp>
#include <quarry/yield.hpp>

#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

using namespace quarry;
using namespace quarry_test;

namespace {

task<> use(semaphore& s, std::atomic<int>& inside, std::atomic<int>& most, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    co_await s.acquire();
    int const now = ++inside;
    int seen = most;
    while (seen < now && !most.compare_exchange_weak(seen, now)) {
    }
    co_await yield();
    --inside;
    s.release();
  }
}

task<> take_one(semaphore& s, std::vector<int>& order, int me) {
  co_await s.acquire();
  order.push_back(me);
}

task<> give(semaphore& s, bool& snatched) {
  co_await yield();
  s.release(2);
  snatched = s.try_acquire(); // the two belong to those who wait
  co_await yield();
  s.release(2);
}

} // namespace

TEST_SUITE("lib.semaphore") {
  TEST_CASE("never more are inside than there are units, and all come in") {
    with_every_scheduler([](executor& s) {
      strand places[] = {{s, "a"}, {s, "b"}, {s, "c"}};
      semaphore units(2);
      std::atomic<int> inside{0};
      std::atomic<int> most{0};
      nursery n;
      for (int i = 0; i < 6; ++i)
        n.start(places[i % 3], use(units, inside, most, 100), "user");
      n.wait(s);
      CHECK(most == 2);
      CHECK(inside == 0);
      CHECK(units.try_acquire());
      CHECK(units.try_acquire());
      CHECK_FALSE(units.try_acquire());
    });
  }

  TEST_CASE("units go to those who have waited longest, and cannot be snatched") {
    for (int kind = 0; kind < 2; ++kind) {
      native_scheduler native({.threads = 1});
      sequential_scheduler sequential;
      executor& s = kind == 0 ? static_cast<executor&>(native) : sequential;
      strand place(s, "place");
      semaphore units(0);
      std::vector<int> order;
      bool snatched = true;
      nursery n;
      for (int i = 0; i < 4; ++i)
        n.start(place, take_one(units, order, i), "taker");
      n.start(place, give(units, snatched), "giver");
      n.wait(s);
      CHECK(order == std::vector{0, 1, 2, 3});
      CHECK_FALSE(snatched);
    }
  }

  TEST_CASE("a unit that was granted to an actor which is destroyed is there again") {
    sequential_scheduler s;
    semaphore units(0);
    std::vector<int> order;
    auto gone = std::make_unique<strand>(s, "gone");
    gone->spawn(take_one(units, order, 1), "gone");
    CHECK_FALSE(s.run_until([] { return false; }));
    units.release();
    CHECK_FALSE(units.try_acquire());
    gone.reset();
    CHECK(order.empty());
    CHECK(units.try_acquire());
    CHECK_FALSE(units.try_acquire());
  }

  TEST_CASE("more free units than can be counted are refused, and none of them is given") {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    semaphore units(2);
    CHECK_THROWS_WITH_AS(units.release(most - 1),
                         "semaphore: 18446744073709551614 units more than 2 are more than it can "
                         "count",
                         std::overflow_error);
    CHECK(units.try_acquire());
    CHECK(units.try_acquire());
    CHECK_FALSE(units.try_acquire());
    units.release(most);
    CHECK(units.try_acquire());
  }
}

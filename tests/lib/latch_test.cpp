// SPDX-License-Identifier: Apache-2.0
#include "scheduler_contract.hpp"

#include <quarry/latch.hpp>
#include <quarry/nursery.hpp>
#include <quarry/yield.hpp>

#include <atomic>
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
    CHECK_THROWS_AS(static_cast<void>(l.arrive_and_wait()), std::invalid_argument);
  }
}

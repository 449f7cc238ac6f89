// SPDX-License-Identifier: Apache-2.0
// Time in which nobody could look does not count, or not for long.
#include <doctest/doctest.h>

#include <awake_time.hpp>
#include <chrono>
#include <utility>

using namespace quarry::net;
using namespace std::chrono_literals;

TEST_SUITE("net.awake_time") {
  TEST_CASE("what passes between looks that follow each other counts as it is") {
    auto const begin = awake_time::clock::now() + 1h; // its own first look is before
    awake_time time(10s);
    auto const first = time.at(begin);
    for (auto since : {0ms, 1ms, 1000ms, 3000ms, 5500ms})
      CHECK(time.at(begin + since) - first == since);
  }

  TEST_CASE("of a gap it is a quarter of the timeout at most, and as much as 100 ms") {
    for (auto const& [timeout, counts] :
         {std::pair{10'000ms, 2500ms}, std::pair{400ms, 100ms}, std::pair{1ms, 100ms}}) {
      auto const begin = awake_time::clock::now() + 1h;
      awake_time time(timeout);
      auto const first = time.at(begin);
      CHECK(time.at(begin + 1h) - first == counts);
      CHECK(time.at(begin + 1h + 5ms) - first == counts + 5ms);
      CHECK(time.at(begin + 24h) - first == 2 * counts + 5ms);
    }
  }

  TEST_CASE("it is over after the timeout, and not before") {
    awake_time long_one(1h), short_one(1ms);
    auto const end = awake_time::clock::now() + 10s;
    while (!short_one.is_over() && awake_time::clock::now() < end)
      REQUIRE_FALSE(long_one.is_over());
    CHECK(short_one.is_over());
  }

  TEST_CASE("by itself it goes on as the clock does") {
    awake_time time(1s);
    auto const begun = time.now();
    auto last = begun;
    for (auto const end = awake_time::clock::now() + 20ms; awake_time::clock::now() < end;) {
      auto const now = time.now();
      REQUIRE(now >= last);
      last = now;
    }
    CHECK(last > begun);
    CHECK(last - begun < 10s);
  }
}

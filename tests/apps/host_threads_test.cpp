// SPDX-License-Identifier: Apache-2.0
#include <quarry/net/error.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <programs/host_threads.hpp>
#include <stdexcept>
#include <vector>

using namespace quarry;
using command::host_threads;

TEST_SUITE("apps.host_threads") {
  TEST_CASE("each thread runs once a round, and run() waits for all") {
    for (std::uint32_t const count : {1U, 2U, 5U}) {
      host_threads threads(count);
      CHECK(threads.count() == count);
      std::vector<std::uint32_t> rounds(count); // each its thread's own
      for (std::uint32_t round = 1; round <= 100; ++round) {
        threads.run([&](std::uint32_t t) { ++rounds[t]; });
        CHECK(rounds == std::vector<std::uint32_t>(count, round));
      }
    }
  }
  TEST_CASE("threads run at the same time: they can wait for each other") {
    host_threads threads(3);
    std::atomic<std::uint32_t> here{0};
    threads.run([&](std::uint32_t) {
      ++here;
      while (here.load() < 3)
        std::this_thread::yield();
    });
    CHECK(here.load() == 3);
  }
  TEST_CASE("the first thread's error is the round's, and the next round is its own") {
    host_threads threads(3);
    auto const fails = [](std::uint32_t t) -> result<void> {
      if (t == 0)
        return {};
      return net::make_error(net::net_errc::timeout, t == 1 ? "one" : "two");
    };
    auto const failed = threads.run(fails);
    REQUIRE(failed.has_error());
    CHECK(failed.error().what == "one");
    CHECK(threads.run([](std::uint32_t) { return result<void>{}; }));
  }
  TEST_CASE("an exception of any thread comes out of run()") {
    host_threads threads(2);
    auto const throws = [](std::uint32_t t) {
      if (t == 1)
        throw std::runtime_error("thrown");
    };
    CHECK_THROWS_WITH_AS(threads.run(throws), "thrown", std::runtime_error);
    threads.run([](std::uint32_t) {});
  }
}

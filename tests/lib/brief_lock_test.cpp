// SPDX-License-Identifier: Apache-2.0
#include <quarry/brief_lock.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

using namespace quarry;

TEST_SUITE("lib.brief_lock") {
  TEST_CASE("one thread at a time is inside, beside those that lock in the usual way") {
    constexpr int threads = 4, rounds = 2000;
    std::mutex mutex;
    int count = 0; // plain: the lock must order it
    {
      std::vector<std::jthread> all;
      for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
          for (int i = 0; i < rounds; ++i) {
            if (t == 0) {
              std::lock_guard const usual(mutex);
              ++count;
              continue;
            }
            brief_lock const lock(mutex);
            if (i % 4 == 0)
              std::this_thread::yield(); // the others come to wait, even on a single core
            ++count;
          }
        });
    }
    CHECK(count == threads * rounds);
  }

  TEST_CASE("who waits for longer than it looks gets it all the same") {
    std::mutex mutex;
    std::atomic<bool> is_held{false}, has_waited{false};
    std::unique_lock holder(mutex);
    std::jthread const waiter([&] {
      is_held = true;
      brief_lock const lock(mutex);
      has_waited = true;
    });
    while (!is_held)
      std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) { // many times the pauses of a waiter
      std::this_thread::yield();
      REQUIRE_FALSE(has_waited);
    }
    holder.unlock();
    while (!has_waited)
      std::this_thread::yield();
    CHECK_FALSE(std::is_copy_constructible_v<brief_lock>);
  }
}

// SPDX-License-Identifier: Apache-2.0
#include <quarry/spin_lock.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

using namespace quarry;

TEST_SUITE("lib.spin_lock") {
  TEST_CASE("one thread at a time is inside, and sees what those before it did") {
    constexpr int threads = 4, rounds = 2000;
    spin_lock lock;
    int count = 0; // plain: the lock must order it
    std::atomic<int> inside{0}, overlaps{0};
    {
      std::vector<std::jthread> all;
      for (int t = 0; t < threads; ++t)
        all.emplace_back([&] {
          for (int i = 0; i < rounds; ++i) {
            std::lock_guard const guard(lock);
            overlaps += inside++ == 0 ? 0 : 1;
            if (i % 4 == 0)
              std::this_thread::yield(); // the others come to wait, even on a single core
            ++count;
            --inside;
          }
        });
    }
    CHECK(overlaps == 0);
    CHECK(count == threads * rounds);
  }

  TEST_CASE("whoever locks next may destroy the lock") {
    for (int round = 0; round < 500; ++round) {
      auto lock = std::make_unique<spin_lock>();
      lock->lock();
      std::atomic<bool> waits{false};
      std::jthread const next([&] {
        waits = true;
        lock->lock();
        lock.reset();
      });
      while (!waits)
        std::this_thread::yield();
      lock->unlock();
    }
  }

  TEST_CASE("a lock is one byte, and stays where it is") {
    CHECK(sizeof(spin_lock) == 1);
    CHECK_FALSE(std::is_copy_constructible_v<spin_lock>);
    CHECK_FALSE(std::is_move_constructible_v<spin_lock>);
  }
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/symmetric_heap.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

namespace quarry::net::shmem {

/// Wakes who has gone to sleep until something changes in a heap. Whoever writes there asks one
/// flag; a wake-up that is missed, since it came just before the flag, costs one bounded sleep.
class bell {
public:
  void ring() noexcept {
    if (sleepers_.load(std::memory_order_relaxed) == 0)
      return;
    std::lock_guard const lock(mutex_);
    ++rung_;
    changed_.notify_all();
  }
  /// Sleeps until ring(), unless `is_over()` says yes before, which it returns.
  template<class F>
  [[nodiscard]] bool sleep(std::chrono::nanoseconds at_most, F const& is_over) {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    std::unique_lock lock(mutex_);
    auto const before = rung_;
    lock.unlock();
    bool over = is_over();
    if (!over) {
      std::this_thread::yield(); // what was written just before the flag was seen has arrived then
      over = is_over();
    }
    if (!over) {
      lock.lock();
      changed_.wait_for(lock, at_most, [&] { return rung_ != before; });
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return over;
  }

private:
  std::atomic<std::uint32_t> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t rung_ = 0;
};

/// A pe's memory: what malloc() gives, and then what collectives need. In process the others keep
/// it alive as long as they may touch it.
struct region {
  region(std::size_t user, std::size_t internal)
      : user_bytes((user + 63) / 64 * 64), heap(user_bytes + internal) {}
  std::uint64_t user_bytes;
  symmetric_heap heap;
  bell arrivals;
  alignas(64) std::atomic<std::uint64_t> operations{0}; ///< that its pe has begun, about
  std::atomic<bool> is_leaving{false};                  ///< its pe: finish() has been called
  [[nodiscard]] std::byte* at(std::uint64_t offset) noexcept { return heap.begin() + offset; }
};

/// The regions of this process by number, which goes over the transport. 0 is none.
[[nodiscard]] std::uint64_t enroll(std::shared_ptr<region> const& r);
[[nodiscard]] std::shared_ptr<region> find_region(std::uint64_t number);

} // namespace quarry::net::shmem

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>

namespace quarry {

/// Between a scheduler that goes and the tasks that it has given to a pool, of which some may begin
/// later, or never, where the pool cannot start a thread. In use until the last of them has been
/// here. A task holds no lock here: a process may be forked when its schedulers are gone.
class worker_door {
public:
  /// Whoever makes one closes it.
  [[nodiscard]] static worker_door& make() {
    // Never destroyed: tasks may outlive static objects.
    static auto& mutex = *new std::mutex;
    static auto& all = *new std::deque<worker_door>;
    std::lock_guard const lock(mutex);
    for (worker_door& one : all) {
      if (one.visitors_.load(std::memory_order_acquire) != 0)
        continue;
      one.is_closed_.store(false, std::memory_order_relaxed);
      one.visitors_.store(1, std::memory_order_relaxed);
      return one;
    }
    return all.emplace_back();
  }
  worker_door() = default;
  worker_door(worker_door const&) = delete;
  worker_door& operator=(worker_door const&) = delete;

  /// Before a task is given to the pool.
  void expect() noexcept { visitors_.fetch_add(1, std::memory_order_release); }

  /// The task begins. False: there is no scheduler any more.
  [[nodiscard]] bool enter() noexcept {
    // Acquire: pairs with the release in expect(). The pool orders the two as well, but TSan does
    // not see how.
    static_cast<void>(visitors_.load(std::memory_order_acquire));
    // seq_cst: either close() sees us, or we see that it has closed.
    inside_.fetch_add(1, std::memory_order_seq_cst);
    return !is_closed_.load(std::memory_order_seq_cst);
  }
  /// The task ends, whether it was let in or not: its last touch.
  void leave() noexcept {
    inside_.fetch_sub(1, std::memory_order_release); // what happened inside is over by then
    drop();
  }

  /// Lets nobody else in, and waits for who is.
  void close() noexcept {
    is_closed_.store(true, std::memory_order_seq_cst);
    while (inside_.load(std::memory_order_seq_cst) != 0)
      std::this_thread::yield();
    drop();
  }

private:
  /// The last to go leaves the door to another scheduler.
  void drop() noexcept { visitors_.fetch_sub(1, std::memory_order_acq_rel); }

  std::atomic<std::size_t> visitors_{1}; ///< tasks that will come or are here, and the scheduler
  std::atomic<std::size_t> inside_{0};
  std::atomic<bool> is_closed_{false};
};

} // namespace quarry

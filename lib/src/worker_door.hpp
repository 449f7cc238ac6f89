// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

namespace quarry {

/// Between a scheduler that goes and the tasks that it has given to a pool, of which some may begin
/// later, or never, where the pool cannot start a thread. Stays until the last of them has been
/// here.
class worker_door {
public:
  /// Whoever makes one closes it.
  [[nodiscard]] static worker_door& make() {
    auto one = std::unique_ptr<worker_door>(new worker_door);
    std::lock_guard const lock(all().mutex);
    all().doors.insert(one.get());
    return *one.release();
  }
  worker_door(worker_door const&) = delete;

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
  /// Those that there are: one whose task has not begun when the process ends is no leak.
  struct list {
    std::mutex mutex;
    std::set<worker_door const*> doors;
  };
  static list& all() {
    static list* const those = new list; // tasks may outlive static objects
    return *those;
  }

  worker_door() = default;
  ~worker_door() = default;
  friend std::default_delete<worker_door>;

  void drop() noexcept {
    if (visitors_.fetch_sub(1, std::memory_order_acq_rel) != 1)
      return;
    {
      std::lock_guard const lock(all().mutex);
      all().doors.erase(this);
    }
    delete this;
  }

  std::atomic<std::size_t> visitors_{1}; ///< tasks that will come or are here, and the scheduler
  std::atomic<std::size_t> inside_{0};
  std::atomic<bool> is_closed_{false};
};

} // namespace quarry

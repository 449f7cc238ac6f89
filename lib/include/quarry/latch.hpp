// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/task.hpp>
#include <quarry/wait_queue.hpp>

#include <cstddef>

namespace quarry {

/// Counts down to zero once; releases all who wait for that.
///
/// All operations may come from any thread and any strand. Whoever has seen wait() end may destroy
/// the latch.
class latch {
public:
  explicit latch(std::size_t count) noexcept : count_(count) {}

  /// Errors   std::invalid_argument – `by` is more than what is left; nothing is counted
  void count_down(std::size_t by = 1);
  /// For a look from outside; what it says may be over already.
  [[nodiscard]] std::size_t count() noexcept;

  class waiter;
  /// Suspends until the count is zero; not at all if it is.
  [[nodiscard]] waiter wait(std::source_location where = std::source_location::current()) noexcept;
  /// Counts down by one, and waits. The last one does not suspend.
  ///
  /// Errors   std::invalid_argument – the count is zero already
  [[nodiscard]] waiter
  arrive_and_wait(std::source_location where = std::source_location::current());

private:
  bool enlist(wait_place& place, actor& self, std::source_location where) noexcept;

  wait_queue queue_; ///< its lock guards count_
  std::size_t count_;
};

/// What wait() and arrive_and_wait() return: to be awaited at once.
class latch::waiter {
public:
  waiter(latch& l, std::source_location where) noexcept : latch_(l), where_(where) {}

  bool await_ready() const noexcept { return false; } // never without the lock, see event::waiter
  template<task_promise P>
  bool await_suspend(std::coroutine_handle<P> caller) noexcept {
    return latch_.enlist(place_, *caller.promise().self, where_);
  }
  void await_resume() const noexcept {}

private:
  latch& latch_;
  std::source_location where_;
  wait_place place_;
};

inline latch::waiter latch::wait(std::source_location where) noexcept {
  return {*this, where};
}

inline latch::waiter latch::arrive_and_wait(std::source_location where) {
  count_down();
  return {*this, where};
}

} // namespace quarry

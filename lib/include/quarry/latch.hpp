// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/task.hpp>
#include <quarry/wait_queue.hpp>

#include <cstddef>

namespace quarry {

/// Counts down to zero once; releases all who wait for that.
///
/// All operations may come from any thread and any strand; where choices are explored, somebody
/// else may go on before each. Whoever has seen wait() end may destroy the latch.
class latch {
public:
  explicit latch(std::size_t count) noexcept : count_(count) {}

  /// Errors   std::invalid_argument – `by` is more than what is left; nothing is counted
  void count_down(std::size_t by = 1);
  /// For a look from outside; what it says may be over already.
  ///
  /// Throws   `abandoned`, where choices are explored
  [[nodiscard]] std::size_t count();

  class waiter;
  /// Suspends until the count is zero; not at all if it is.
  [[nodiscard]] waiter wait(std::source_location where = std::source_location::current()) noexcept;
  /// The await counts down by one, and waits. The last one does not suspend.
  ///
  /// Errors   std::invalid_argument – the co_await: the count is zero already
  [[nodiscard]] waiter
  arrive_and_wait(std::source_location where = std::source_location::current()) noexcept;

private:
  [[nodiscard]] wait_place* lower(std::size_t by);
  bool enlist(wait_place& place, std::size_t arrivals, actor& self, std::source_location where);

  wait_queue queue_; ///< its lock guards count_
  std::size_t count_;
};

/// What wait() and arrive_and_wait() return: to be awaited at once.
class latch::waiter {
public:
  waiter(latch& l, std::size_t arrivals, std::source_location where) noexcept
      : latch_(l), arrivals_(arrivals), where_(where) {}

  bool await_ready() const noexcept { return false; } // never without the lock, see event::waiter
  /// Throws   `abandoned`, where choices are explored
  template<task_promise P>
  bool await_suspend(std::coroutine_handle<P> caller) {
    return latch_.enlist(place_, arrivals_, *caller.promise().self, where_);
  }
  void await_resume() const noexcept {}

private:
  latch& latch_;
  std::size_t arrivals_; ///< one or none
  std::source_location where_;
  wait_place place_;
};

inline latch::waiter latch::wait(std::source_location where) noexcept {
  return {*this, 0, where};
}

inline latch::waiter latch::arrive_and_wait(std::source_location where) noexcept {
  return {*this, 1, where};
}

} // namespace quarry

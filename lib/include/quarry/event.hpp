// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/task.hpp>
#include <quarry/wait_queue.hpp>

namespace quarry {

/// Something that has happened, until reset(): releases all who wait for it, and all who come
/// later.
///
/// All operations may come from any thread and any strand; where choices are explored, somebody
/// else may go on before each. Whoever has seen wait() end may destroy the event at once, although
/// set() is still at work.
class event {
public:
  /// Releases the waiting, in the order in which they came. Setting a set event does nothing.
  void set();
  /// From now on wait() suspends. Whoever was released before goes on.
  void reset() noexcept;
  /// For a look from outside; what it says may be over already.
  ///
  /// Throws   `abandoned`, where choices are explored
  [[nodiscard]] bool is_set();

  class waiter;
  /// Suspends until set(); not at all if the event is set.
  [[nodiscard]] waiter wait(std::source_location where = std::source_location::current()) noexcept;

private:
  bool enlist(wait_place& place, actor& self, std::source_location where);

  wait_queue queue_; ///< its lock guards is_set_
  bool is_set_ = false;
};

/// What wait() returns: to be awaited at once.
class event::waiter {
public:
  waiter(event& e, std::source_location where) noexcept : event_(e), where_(where) {}

  // Never without the lock: set() may still hold it, and is to be out before we go on.
  bool await_ready() const noexcept { return false; }
  /// Throws   `abandoned`, where choices are explored
  template<task_promise P>
  bool await_suspend(std::coroutine_handle<P> caller) {
    return event_.enlist(place_, *caller.promise().self, where_);
  }
  void await_resume() const noexcept {}

private:
  event& event_;
  std::source_location where_;
  wait_place place_;
};

inline event::waiter event::wait(std::source_location where) noexcept {
  return {*this, where};
}

} // namespace quarry

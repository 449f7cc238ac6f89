// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/task.hpp>

#include <concepts>
#include <source_location>
#include <utility>

namespace quarry {

/// `co_await yield();` – lets the other ready actors of the strand go first.
///
/// Suspends always; ready again at once, at the end of the queue
class [[nodiscard]] yield {
public:
  // For temporaries g++ 12 looks for [[nodiscard]] here alone. Not defaulted: it mistreats
  // aggregates that are awaited.
  [[nodiscard]] explicit yield(
      std::source_location where = std::source_location::current()) noexcept
      : where_(where) {}

  bool await_ready() const noexcept { return false; }
  template<task_promise P>
  void await_suspend(std::coroutine_handle<P> caller) noexcept {
    caller.promise().self->stay_ready("yield", where_);
  }
  void await_resume() const noexcept {}

private:
  std::source_location where_;
};

/// `co_await poll_until([&] { return flag.load() == 1; });` – waits for something that wakes
/// nobody, such as a write to memory. The scheduler asks the predicate now and then; it belongs to
/// the awaiter, must have no effects, must not throw, and is run by the strand of the actor.
///
/// Suspends while the predicate says no; gives whether it has. Where a waker exists, an event costs
/// less
///
/// g++ 12: name a predicate whose captures have destructors, and move it in (see task).
template<std::predicate F>
class [[nodiscard]] poll_until {
public:
  [[nodiscard]] explicit poll_until(F is_over,
                                    std::source_location where = std::source_location::current())
      : is_over_(std::move(is_over)), where_(where) {}

  bool await_ready() { return is_over_(); }
  template<task_promise P>
  void await_suspend(std::coroutine_handle<P> caller) noexcept {
    has_waited_ = true;
    caller.promise().self->poll_for(
        "poll_until", where_, nullptr, [](void* f) -> bool { return (*static_cast<F*>(f))(); },
        &is_over_);
  }
  bool await_resume() const noexcept { return has_waited_; }

private:
  F is_over_;
  std::source_location where_;
  bool has_waited_ = false;
};

} // namespace quarry

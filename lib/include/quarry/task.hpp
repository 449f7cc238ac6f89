// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/actor.hpp>
#include <quarry/frame_pool.hpp>
#include <quarry/misuse.hpp>

#include <bit>
#include <concepts>
#include <coroutine>
#include <exception>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

namespace quarry {

template<class T>
class task;

/// What every task's promise has, whatever it returns. Awaitables reach their actor through it.
class promise_base {
public:
  /// The actor that runs this task; known from the first resumption on.
  actor* self = nullptr;
  /// The frame that awaits this one; null in an actor's root.
  std::coroutine_handle<> continuation;
  std::exception_ptr error;
  /// The std::source_location of the co_await of the task that this one awaits; for debuggers.
  /// Indeterminate unless it awaits one: a store for each task made would cost a nanosecond.
  void const* awaits_at; // NOLINT(*-member-init)

  static void* operator new(std::size_t bytes) { return allocate_frame(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept { free_frame(frame, bytes); }

  std::suspend_always initial_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { error = std::current_exception(); }

  /// Hands the actor back to the awaiting frame; the trampoline resumes it (actor::resume).
  struct final_awaiter {
    bool await_ready() noexcept { return false; }
    template<class P>
    void await_suspend(std::coroutine_handle<P> finished) noexcept {
      promise_base& promise = finished.promise();
      promise.self->leaf = promise.continuation;
      if (!promise.continuation && promise.error) [[unlikely]]
        promise.self->error = promise.error;
    }
    void await_resume() noexcept {}
  };
  final_awaiter final_suspend() noexcept { return {}; }
};

/// An awaitable's view of a coroutine: any task.
template<class P>
concept task_promise = std::derived_from<P, promise_base>;

/// A lazy coroutine with one owner. It starts when it is awaited, or as the root of an actor, and
/// runs on the awaiting actor; its frame comes from the frame pool and dies with the task object.
///
/// Awaiting never grows the native stack: a million nested or consecutive awaits are fine. Only the
/// destruction of a chain of suspended tasks takes stack for each: a hundred bytes or two a level.
///
/// g++ 12 destroys some temporaries of a full expression with co_await twice: closures, aggregates
/// and braced lists whose destructor is not trivial. Give them a name in a statement of their own.
///
/// Errors   what the coroutine throws is rethrown by the co_await
template<class T = void>
class [[nodiscard]] task {
public:
  class promise_type;
  using value_type = T;

  task() = default;
  task(task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  task& operator=(task&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~task() {
    if (frame_)
      frame_.destroy();
  }

  /// Awaits the result. The process ends where the task is empty, or has ended before.
  [[nodiscard]] auto operator co_await() && noexcept { return awaiter(frame_); }
  /// Awaiting uses a task up.
  template<class U = T>
  auto operator co_await() & {
    static_assert(!std::same_as<U, T>, "a task that has a name: co_await std::move(it)");
    return awaiter(frame_);
  }

  /// Makes this task the root of `self`: the next resume() of the actor starts it. The process ends
  /// where the task is empty, or has ended before.
  void start_on(actor& self) noexcept {
    need_fresh(frame_, {});
    frame_.promise().self = &self;
    self.leaf = frame_;
  }

  explicit operator bool() const noexcept { return static_cast<bool>(frame_); }
  /// The value of a root task that is done. Rethrows what it threw.
  [[nodiscard]] T result() && { return frame_.promise().take(); }

private:
  friend class promise_type;
  using handle = std::coroutine_handle<promise_type>;
  explicit task(handle frame) noexcept : frame_(frame) {}
  static void need_fresh(handle frame, std::source_location where) noexcept {
    if (!frame) [[unlikely]]
      misuse("an empty task is started: it was moved from", where);
    if (frame.done()) [[unlikely]]
      misuse("a task is started that has ended: it was awaited before", where);
  }

  class awaiter {
  public:
    explicit awaiter(handle frame) noexcept : frame_(frame) {}
    bool await_ready() const noexcept { return false; }
    template<task_promise P>
    void await_suspend(std::coroutine_handle<P> parent,
                       std::source_location where = std::source_location::current()) noexcept {
      need_fresh(frame_, where);
      parent.promise().awaits_at = std::bit_cast<void const*>(where);
      frame_.promise().continuation = parent;
      frame_.promise().self = parent.promise().self;
      parent.promise().self->leaf = frame_;
    }
    T await_resume() { return frame_.promise().take(); }

  private:
    handle frame_;
  };

  handle frame_;
};

/// A function that gives a coroutine, or something else to await. Where a plain function is wanted
/// it would be called, and what it gives be dropped before it has done anything.
template<class F, class... Args>
concept awaitable_function = requires {
  typename std::invoke_result_t<F&, Args...>::promise_type;
} || requires(std::invoke_result_t<F&, Args...>& r) { r.await_ready(); };

// Implementation

template<class T>
class task<T>::promise_type : public promise_base {
public:
  task get_return_object() noexcept { return task(handle::from_promise(*this)); }
  template<class U = T>
    requires std::constructible_from<T, U>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  T take() {
    if (error)
      std::rethrow_exception(std::exchange(error, nullptr));
    return std::move(*value_);
  }

private:
  std::optional<T> value_;
};

template<>
class task<void>::promise_type : public promise_base {
public:
  task get_return_object() noexcept { return task(handle::from_promise(*this)); }
  void return_void() noexcept {}
  void take() {
    if (error)
      std::rethrow_exception(std::exchange(error, nullptr));
  }
};

} // namespace quarry

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/task.hpp>
#include <quarry/wait_queue.hpp>

#include <utility>

namespace quarry {

/// Mutual exclusion between actors; first come, first served. The only lock that an actor may hold
/// across memory operations and suspensions: whoever waits for it lets its thread do other work.
///
/// Actors of all strands may lock it. It outlives its guards. It is not recursive: locking twice is
/// a deadlock, which the report shows as a cycle. Where a scheduler decides, somebody else may go
/// on once it is held, and where choices are explored before it is unlocked, too. Under `explore`
/// it orders no device memory: see <quarry/emu/handover.hpp>.
class mutex {
public:
  class guard;
  class locking;
  /// `auto guard = co_await m.lock();`
  ///
  /// Suspends while it is held, or others came before
  [[nodiscard]] locking lock(std::source_location where = std::source_location::current()) noexcept;
  /// An empty guard if lock() would suspend. Reports do not know the holder then.
  ///
  /// Throws   `abandoned`, where choices are explored
  [[nodiscard]] guard try_lock();

private:
  bool enlist(wait_place& place, actor& self, std::source_location where);
  void unlock();
  void give();

  wait_queue queue_; ///< its lock guards the rest
  bool is_held_ = false;
  std::atomic<actor const*> owner_{nullptr}; ///< for reports, which read it without the lock
};

/// Holds a mutex until it is destroyed; may be empty.
class [[nodiscard]] mutex::guard {
public:
  guard() = default;
  guard(guard&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
  guard& operator=(guard&& other) noexcept {
    std::swap(mutex_, other.mutex_);
    return *this;
  }
  ~guard() { unlock(); }

  /// Not of one without a name, which is unlocked again at once: `if (auto held = m.try_lock())`.
  explicit operator bool() const& noexcept { return mutex_ != nullptr; }
  explicit operator bool() const&& = delete;
  /// Hands the mutex to the actor that has waited longest. Nothing if the guard is empty.
  void unlock() {
    if (mutex_ != nullptr)
      std::exchange(mutex_, nullptr)->unlock();
  }

private:
  friend class mutex;
  explicit guard(mutex& m) noexcept : mutex_(&m) {}

  mutex* mutex_ = nullptr;
};

/// What lock() returns: to be awaited at once.
class mutex::locking {
public:
  locking(mutex& m, std::source_location where) noexcept : mutex_(m), where_(where) {}
  locking(locking const&) = delete;
  locking& operator=(locking const&) = delete;
  ~locking() { // with an actor that is destroyed before it goes on
    if (place_.leave())
      mutex_.give();
  }

  bool await_ready() const noexcept { return false; }
  /// Throws   `abandoned`, where a scheduler decides
  template<task_promise P>
  bool await_suspend(std::coroutine_handle<P> caller) {
    actor& self = *caller.promise().self;
    if (mutex_.enlist(place_, self, where_))
      return true;
    has_it_at_once_ = &self;
    return false;
  }
  /// Throws   `abandoned`, where a scheduler decides
  guard await_resume() {
    place_.accept();
    guard held(mutex_);
    if (has_it_at_once_ != nullptr)
      has_it_at_once_->after_taking();
    return held;
  }

private:
  mutex& mutex_;
  std::source_location where_;
  actor* has_it_at_once_ = nullptr;
  wait_place place_;
};

inline mutex::locking mutex::lock(std::source_location where) noexcept {
  return {*this, where};
}

} // namespace quarry

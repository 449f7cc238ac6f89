// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/task.hpp>
#include <quarry/wait_queue.hpp>

#include <cstddef>

namespace quarry {

/// A number of units that are taken one at a time and given back; first come, first served: a unit
/// that is given back belongs to the actor that has waited longest, and nobody can snatch it.
///
/// All operations may come from any thread and any strand; where choices are explored, somebody
/// else may go on before each.
class semaphore {
public:
  explicit semaphore(std::size_t units) noexcept : units_(units) {}

  class acquisition;
  /// Suspends until a unit is free and everybody who came before has one.
  [[nodiscard]] acquisition
  acquire(std::source_location where = std::source_location::current()) noexcept;
  /// False if acquire() would suspend.
  ///
  /// Throws   `abandoned`, where choices are explored
  [[nodiscard]] bool try_acquire();
  /// Errors   std::overflow_error – more free units than it can count: none is given then
  void release(std::size_t units = 1);

private:
  bool enlist(wait_place& place, actor& self, std::source_location where);
  void give(std::size_t units);

  wait_queue queue_; ///< its lock guards units_; empty whenever units_ is not zero
  std::size_t units_;
};

/// What acquire() returns: to be awaited at once.
class semaphore::acquisition {
public:
  acquisition(semaphore& s, std::source_location where) noexcept : semaphore_(s), where_(where) {}
  acquisition(acquisition const&) = delete;
  acquisition& operator=(acquisition const&) = delete;
  ~acquisition() { // with an actor that is destroyed before it goes on
    if (place_.leave())
      semaphore_.give(1);
  }

  bool await_ready() const noexcept { return false; }
  /// Throws   `abandoned`, where a scheduler decides
  template<task_promise P>
  bool await_suspend(std::coroutine_handle<P> caller) {
    actor& self = *caller.promise().self;
    if (semaphore_.enlist(place_, self, where_))
      return true;
    has_it_at_once_ = &self;
    return false;
  }
  /// Throws   `abandoned`, where a scheduler decides
  void await_resume() {
    place_.accept();
    if (has_it_at_once_ == nullptr)
      return;
    try {
      has_it_at_once_->after_taking();
    } catch (...) {
      semaphore_.give(1);
      throw;
    }
  }

private:
  semaphore& semaphore_;
  std::source_location where_;
  actor* has_it_at_once_ = nullptr;
  wait_place place_;
};

inline semaphore::acquisition semaphore::acquire(std::source_location where) noexcept {
  return {*this, where};
}

} // namespace quarry

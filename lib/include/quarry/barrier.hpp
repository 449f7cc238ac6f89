// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/task.hpp>
#include <quarry/wait_queue.hpp>

#include <cstddef>

namespace quarry {

/// A meeting point for a fixed number of actors, again and again: nobody passes a round before all
/// have arrived. The last to arrive does not suspend.
///
/// Actors of all strands may meet; where choices are explored, somebody else may go on before each
/// arrival. Among actors of one strand emu's work-group barrier is cheaper.
class barrier {
public:
  /// Errors   std::invalid_argument – nobody is expected
  explicit barrier(std::size_t expected);

  class arrival;
  /// Suspends until the others of this round have arrived.
  [[nodiscard]] arrival
  arrive_and_wait(std::source_location where = std::source_location::current()) noexcept;

private:
  bool arrive(wait_place& place, actor& self, std::source_location where);

  wait_queue queue_; ///< its lock guards arrived_
  std::size_t expected_;
  std::size_t arrived_ = 0; ///< in this round
};

/// What arrive_and_wait() returns: to be awaited at once; the await arrives.
class barrier::arrival {
public:
  arrival(barrier& b, std::source_location where) noexcept : barrier_(b), where_(where) {}
  arrival(arrival const&) = delete;
  arrival& operator=(arrival const&) = delete;
  ~arrival() { place_.leave(&barrier_.arrived_); } // who is destroyed in the queue has not arrived

  bool await_ready() const noexcept { return false; }
  /// Throws   `abandoned`, where choices are explored
  template<task_promise P>
  bool await_suspend(std::coroutine_handle<P> caller) {
    return barrier_.arrive(place_, *caller.promise().self, where_);
  }
  void await_resume() const noexcept {}

private:
  barrier& barrier_;
  std::source_location where_;
  wait_place place_;
};

inline barrier::arrival barrier::arrive_and_wait(std::source_location where) noexcept {
  return {*this, where};
}

} // namespace quarry

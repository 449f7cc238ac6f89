// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/actor.hpp>
#include <quarry/spin_lock.hpp>

#include <cstddef>

namespace quarry {

class wait_queue;

/// One actor's place in a wait_queue. It is a part of the awaiter, so it lives in the frame of the
/// suspended coroutine; destroying that frame leaves the queue.
class wait_place {
public:
  wait_place() = default;
  wait_place(wait_place const&) = delete;
  wait_place& operator=(wait_place const&) = delete;
  ~wait_place();

private:
  friend class wait_queue;
  actor* who_ = nullptr;
  wait_queue* queue_ = nullptr; ///< null when nobody will wake it through a queue
  wait_place* next_ = nullptr;
  wait_place* previous_ = nullptr;
};

/// A first-in first-out queue of waiting actors and the lock that guards it together with the state
/// that they wait for: what events, latches, barriers, semaphores and mutexes are made of.
///
/// An await looks at the state, calls actor::wait_for() and push(), all under the lock; a waker
/// changes the state and pops under the lock. Neither can slip between the other's look and its
/// deed: no wake-up is lost. From push() on, a waker on another thread may have called
/// strand::make_ready(); that only puts the actor into the inbox of the strand which still runs it,
/// and the strand looks there after it has read the state that wait_for() set before.
///
/// The actors and the queue may be destroyed in either order, as long as nobody wakes meanwhile.
class wait_queue {
public:
  wait_queue() = default;
  wait_queue(wait_queue const&) = delete;
  wait_queue& operator=(wait_queue const&) = delete;
  ~wait_queue();

  void lock() noexcept { lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }

  /// Under the lock, from await_suspend(), after actor::wait_for().
  void push(wait_place& place, actor& who) noexcept;

  /// The actor that has waited longest; null if there is none. Under the lock.
  [[nodiscard]] actor* pop() noexcept;

  /// What to give to wake(): the first waiters, oldest first, `most` of them or all; `most` is
  /// lowered by how many there were. Under the lock.
  [[nodiscard]] wait_place* take(std::size_t& most) noexcept;
  [[nodiscard]] wait_place* take_all() noexcept;
  /// Makes the taken ready. Not under the lock: the first to run may destroy the queue.
  static void wake(wait_place* taken);

  [[nodiscard]] bool is_empty() const noexcept { return first_ == nullptr; }

private:
  friend class wait_place;
  void leave(wait_place& place) noexcept;

  spin_lock lock_;
  wait_place* first_ = nullptr;
  wait_place* last_ = nullptr;
};

} // namespace quarry

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/actor.hpp>
#include <quarry/spin_lock.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace quarry {

class wait_queue;

/// One actor's place in a wait_queue. It is a part of the awaiter, so it lives in the frame of the
/// suspended coroutine; destroying that frame leaves the queue.
///
/// Whoever takes places out of a queue wakes them without its lock, and meanwhile a frame may be
/// destroyed by others: leave() waits until the waker has done with the place.
class wait_place {
public:
  wait_place() = default;
  wait_place(wait_place const&) = delete;
  wait_place& operator=(wait_place const&) = delete;
  ~wait_place() {
    // Acquire: pairs with the release in wait_queue::wake().
    if (state_.load(std::memory_order_acquire) != state::free)
      leave();
  }

  [[nodiscard]] actor& who() const noexcept { return *who_; }

  /// The actor goes on, and has what was granted to it.
  void accept() noexcept {
    if (is_granted_)
      give_up_grant();
  }
  /// From the destructor of the awaiter. True if the place was granted something that its actor has
  /// not accepted. If it is still queued, `count` is lowered under the queue's lock.
  bool leave(std::size_t* count = nullptr) noexcept;

private:
  friend class wait_queue;
  enum class state : std::uint8_t { free, queued, being_woken };
  void give_up_grant() noexcept;

  actor* who_ = nullptr;
  wait_queue* queue_ = nullptr; ///< valid while queued, and while granted
  wait_place* next_ = nullptr;
  wait_place* previous_ = nullptr;
  wait_place* next_granted_ = nullptr;
  wait_place* previous_granted_ = nullptr;
  std::atomic<state> state_{state::free};
  bool is_granted_ = false; ///< set with being_woken; from then on the actor's, or its destroyer's
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

  /// What to give to wake(): the first waiters, oldest first, `most` of them or all; `most` is
  /// lowered by how many there were. Under the lock. Each is granted something, which is to be
  /// given back if it does not come to accept().
  [[nodiscard]] wait_place* grant(std::size_t& most) noexcept;
  /// The same, of all, without a grant.
  [[nodiscard]] wait_place* take_all() noexcept;
  /// Makes the taken ready. Not under the lock: the first to run may destroy the queue.
  static void wake(wait_place* taken);

  [[nodiscard]] bool is_empty() const noexcept { return first_ == nullptr; }

private:
  friend class wait_place;
  wait_place* take(std::size_t& most) noexcept;
  bool leave(wait_place& place, std::size_t* count) noexcept;

  spin_lock lock_;
  wait_place* first_ = nullptr;
  wait_place* last_ = nullptr;
  wait_place* granted_ = nullptr; ///< those that have not accepted yet
};

} // namespace quarry

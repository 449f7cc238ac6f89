// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace quarry {

/// A lock for a handful of instructions without suspension, decision point or memory operation of a
/// kernel inside: what lib's own primitives hold while they look at their state. Everybody else
/// wants quarry::mutex.
///
/// unlock() is one store and the last touch: whoever locks next may destroy the lock.
///
/// Shape    1 byte; meets BasicLockable
class spin_lock {
public:
  spin_lock() = default;
  spin_lock(spin_lock const&) = delete;
  spin_lock& operator=(spin_lock const&) = delete;

  void lock() noexcept {
    // Acquire: pairs with the release in unlock().
    while (is_held_.exchange(true, std::memory_order_acquire))
      wait();
  }
  void unlock() noexcept { is_held_.store(false, std::memory_order_release); }

private:
  /// Until it looks free: pauses first, then gives the processor to a holder that was preempted.
  void wait() const noexcept;

  std::atomic<bool> is_held_{false};
};

} // namespace quarry

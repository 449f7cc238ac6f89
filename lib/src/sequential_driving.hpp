// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/sequential_scheduler.hpp>

#include <atomic>
#include <thread>
#include <utility>

namespace quarry {

/// The scheduler that runs actors on the thread, the innermost; its address stands for the thread.
inline constinit thread_local sequential_scheduler* driven_here = nullptr;

inline bool sequential_scheduler::is_driven_here() const noexcept {
  return driver_.load(std::memory_order_relaxed) == static_cast<void const*>(&driven_here);
}

/// While it lives, the calling thread runs actors, and no report from another thread reads them.
/// One within another one, where a function of the one that runs waits, leaves that to it.
class sequential_scheduler::driving {
public:
  explicit driving(sequential_scheduler& s) noexcept
      : scheduler_(s), is_within_(s.is_driven_here()) {
    if (is_within_)
      outer_ = std::exchange(driven_here, &s);
    else
      hold();
  }
  driving(driving const&) = delete;
  driving& operator=(driving const&) = delete;
  ~driving() {
    if (is_within_)
      driven_here = outer_;
    else
      let_go();
  }

  /// Whether somebody does, but not the calling thread.
  [[nodiscard]] static bool is_elsewhere(sequential_scheduler const& s) noexcept {
    return !s.is_driven_here() && s.driver_.load(std::memory_order_relaxed) != nullptr;
  }

  /// Between two slices.
  void let_a_report_pass() {
    if (is_within_ || !scheduler_.is_report_wanted_.load(std::memory_order_relaxed))
      return;
    let_go();
    while (scheduler_.is_report_wanted_.load(std::memory_order_relaxed))
      std::this_thread::yield();
    hold();
  }

private:
  void hold() {
    // Acquire and release: the table is read between two slices.
    while (scheduler_.is_held_.exchange(true, std::memory_order_acquire))
      std::this_thread::yield();
    scheduler_.driver_.store(static_cast<void const*>(&driven_here), std::memory_order_relaxed);
    outer_ = std::exchange(driven_here, &scheduler_);
  }
  void let_go() {
    driven_here = outer_;
    scheduler_.driver_.store(nullptr, std::memory_order_relaxed);
    scheduler_.is_held_.store(false, std::memory_order_release);
  }

  sequential_scheduler& scheduler_;
  bool is_within_;
  sequential_scheduler* outer_ = nullptr; ///< what the thread runs beside it
};

} // namespace quarry

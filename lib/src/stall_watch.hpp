// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/native_scheduler.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace quarry {

/// Tells a thread in run_until() when nothing has progressed for the stall timeout.
///
/// Progress is counted at the ends of turns, and a turn may take long: when the time is over,
/// whoever is in the middle of one is waited for.
class native_scheduler::stall_watch {
public:
  stall_watch(native_scheduler& s, std::atomic<std::uint64_t> const& turns_that_progressed,
              std::chrono::milliseconds stall_timeout)
      : scheduler_(s), count_(turns_that_progressed), timeout_(stall_timeout), seen_(progress()) {}

  bool is_stalled() {
    if (std::uint64_t const now = progress(); now != seen_) {
      seen_ = now;
      since_ = clock::now();
      is_late_ = false;
    }
    // Whole milliseconds: of longer ones a timeout of centuries is no number.
    auto const waited = std::chrono::floor<std::chrono::milliseconds>(clock::now() - since_);
    if (waited < timeout_)
      return false;
    look_at_turns();
    return (turns_.empty() || waited / longest_turn >= timeout_) && progress() == seen_;
  }

private:
  using clock = std::chrono::steady_clock;
  static constexpr int longest_turn = 10; ///< in stall timeouts

  std::uint64_t progress() const { return count_.load(std::memory_order_relaxed); }

  /// Keeps those turns that were under way when the time was over, and have not ended since.
  void look_at_turns() {
    auto const now = scheduler_.turns_under_way();
    if (!std::exchange(is_late_, true))
      turns_ = now;
    std::erase_if(turns_, [&](auto const& t) { return std::ranges::find(now, t) == now.end(); });
  }

  native_scheduler& scheduler_;
  std::atomic<std::uint64_t> const& count_;
  std::chrono::milliseconds timeout_;
  std::uint64_t seen_;
  clock::time_point since_ = clock::now();
  bool is_late_ = false; ///< nothing has progressed for the stall timeout, but in turns_ perhaps
  std::vector<turn_under_way> turns_;
};

} // namespace quarry

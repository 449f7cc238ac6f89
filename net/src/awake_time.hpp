// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace quarry::net {

/// The time that a process has had to hear others, since it began to wait for them: of a long gap
/// between two looks, in which it was suspended (^Z, a debugger), only a part counts.
class awake_time {
public:
  using clock = std::chrono::steady_clock;

  /// `timeout`: what the times are compared with; a look takes place more often.
  explicit awake_time(std::chrono::milliseconds timeout) noexcept
      : timeout_(timeout),
        longest_gap_(std::max<clock::duration>(std::chrono::milliseconds(100), timeout / 4)) {}

  /// A look: whether it has had more than the timeout.
  [[nodiscard]] bool is_over() noexcept { return now() - begun_ > timeout_; }
  /// A look. Times are to be compared with those of other looks.
  clock::time_point now() noexcept { return at(clock::now()); }
  /// The same, if the clock says so.
  clock::time_point at(clock::time_point real) noexcept {
    counted_ += std::min(real - std::exchange(last_, real), longest_gap_);
    return counted_;
  }

private:
  clock::duration timeout_;
  clock::duration longest_gap_;
  clock::time_point begun_ = clock::now();
  clock::time_point last_ = begun_;
  clock::time_point counted_ = begun_;
};

} // namespace quarry::net

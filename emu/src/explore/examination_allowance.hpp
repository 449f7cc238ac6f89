// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/fiber.hpp>
#include <quarry/sanitizers.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>

namespace quarry {

/// What may be spent, from when this is made, on a failure that is known: half of it on shrinking,
/// the rest on what mends it.
///
/// Executions of a world that fails may leave actors that nobody can unwind, each on a stack that
/// nobody gets back: so many, and a process has no room for more. And somebody waits for the
/// report.
class examination_allowance {
public:
  static constexpr bool is_sanitized = QUARRY_ASAN || QUARRY_TSAN;
  static constexpr std::chrono::hours any_time{100'000};

  explicit examination_allowance(std::chrono::seconds time) noexcept
      : time_((is_sanitized ? 10 : 1) * std::min<std::chrono::seconds>(time, any_time)) {}

  [[nodiscard]] bool is_half_used() const noexcept {
    return leaves_more_than(most_stacks / 2) || has_taken(time_ / 2);
  }
  [[nodiscard]] bool is_used_up() const noexcept {
    return leaves_more_than(most_stacks) || has_taken(time_);
  }
  /// "" while there is some left.
  [[nodiscard]] std::string why_used_up() const {
    if (leaves_more_than(most_stacks))
      return "its executions leave too many actors that nobody can unwind: join() them, also where "
             "the\n  world throws";
    return has_taken(time_) ? std::to_string(time_.count()) +
                                  " seconds are enough (explore_options::examines_for)"
                            : "";
  }

private:
  using clock = std::chrono::steady_clock;
  static constexpr std::size_t most_stacks = is_sanitized ? 64 : 2'000;
  static constexpr std::size_t most_in_process = 16'000; // two mappings each, of 65 530

  [[nodiscard]] bool leaves_more_than(std::size_t more) const noexcept {
    std::size_t const now = execution_fiber::mapped_count();
    return now > at_first_ + more || now > most_in_process;
  }
  [[nodiscard]] bool has_taken(clock::duration time) const noexcept {
    return clock::now() - begun_ >= time;
  }

  std::chrono::seconds time_;
  std::size_t at_first_ = execution_fiber::mapped_count();
  clock::time_point begun_ = clock::now();
};

} // namespace quarry

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace quarry {

/// What a thread does that finds nothing to do: it pauses, then yields, then sleeps, since nobody
/// tells it of all that it waits for; in the long run for a sixteenth of the time for which it has
/// slept.
class idleness {
public:
  enum class step : std::uint8_t { pause, yield, sleep };

  void end() { *this = {}; }
  /// Before a look at a strand, with the news that there are: those before the first look since all
  /// have had one, or one has progressed.
  std::uint64_t heard(std::uint64_t news) {
    if (looks_ == 0)
      heard_ = news;
    return heard_;
  }
  /// After a look at one of `all` strands that has come to nothing: whether each has had one. (A
  /// thread must not sleep between two of them.)
  bool has_looked_at(std::size_t all) {
    if (++looks_ < all)
      return false;
    looks_ = 0;
    return true;
  }
  /// After one more round. `is_brief`: others need the core.
  step next(bool is_brief) {
    ++rounds_;
    if (is_brief) {
      has_paused_ = true;
      return rounds_ <= few_yields ? step::yield : step::sleep;
    }
    if (rounds_ % 2 == 0 && !is_long())
      look_at_clock();
    if (rounds_ < pauses && !has_paused_)
      return step::pause;
    has_paused_ = true;
    return !is_long() && !has_yielded_ ? step::yield : step::sleep;
  }
  /// So many rounds that a worker leaves, if nobody waits for it.
  [[nodiscard]] bool is_long() const { return rounds_ >= pauses + yields; }
  [[nodiscard]] bool has_paused() const { return has_paused_; }
  [[nodiscard]] std::chrono::microseconds next_sleep() {
    constexpr std::chrono::microseconds usual{1'000}, most{10'000};
    auto const now = sleep_;
    slept_ += now;
    sleep_ = std::min(2 * sleep_, std::clamp<microseconds>(slept_ / 16, usual, most));
    return now;
  }

private:
  using clock = std::chrono::steady_clock;
  using microseconds = std::chrono::microseconds;

  static constexpr int pauses = 200; ///< rounds without progress that only pause: about 10 us
  static constexpr int yields = 400; ///< then rounds that yield the processor
  static constexpr int few_yields = 8;
  // Neither for longer: a look at a network takes its time.
  static constexpr microseconds longest_pausing{20};
  static constexpr microseconds longest_yielding{200};
  static constexpr microseconds first_sleep{50};

  void look_at_clock() {
    auto const now = clock::now();
    if (since_ == clock::time_point{})
      since_ = now;
    has_paused_ = has_paused_ || now - since_ > longest_pausing;
    has_yielded_ = now - since_ > longest_pausing + longest_yielding;
  }

  std::size_t looks_ = 0;
  std::uint64_t heard_ = 0;
  int rounds_ = 0;
  bool has_paused_ = false;
  bool has_yielded_ = false;
  clock::time_point since_{};
  microseconds sleep_ = first_sleep;
  microseconds slept_{0};
};

} // namespace quarry

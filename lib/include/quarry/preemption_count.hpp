// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace quarry {

/// Counts an execution's pre-emptions: that somebody else goes on though the actor that ran last
/// could, and has not yielded.
///
/// Source   Musuvathi and Qadeer: Iterative context bounding, PLDI'07
class preemption_count {
public:
  /// A new execution.
  void begin() noexcept {
    last_ = nobody;
    count_ = 0;
  }

  /// None, whoever of these goes on.
  [[nodiscard]] bool is_free(std::span<std::uint32_t const> ready) const noexcept {
    return ready.front() != last_;
  }
  void on_pick(std::span<std::uint32_t const> ready, unsigned taken) noexcept {
    count_ += taken != 0 && !is_free(ready) ? 1 : 0;
    last_ = ready[taken];
  }
  void on_only(std::uint32_t actor) noexcept { last_ = actor; }
  void on_yield(std::uint32_t actor) noexcept {
    if (actor == last_)
      last_ = nobody;
  }

  [[nodiscard]] std::uint32_t value() const noexcept { return count_; }

private:
  static constexpr std::uint32_t nobody = ~0U;

  std::uint32_t last_ = nobody;
  std::uint32_t count_ = 0;
};

} // namespace quarry

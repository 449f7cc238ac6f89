// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/channel_aggregator.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace quarry::emu {

/// In which order a tree of calls is walked.
///
/// help_first: a level after the other, until wavefronts have yielded; then the deepest level
/// first, until none has (thesis §4.3.3).
/// hybrid: the same, until there are calls enough for all compute units, or wavefronts have
/// yielded; then each wavefront takes its calls to their ends by itself, depth first: work-first.
enum class traversal : std::uint8_t { help_first, hybrid };

/// The scheduler of cilk<F>: of its channels, level after level, what is spawned and what goes on
/// after the first, second … sync. What goes on after a sync is dispatched when there is nothing in
/// deeper levels, neither ready nor running (levelization).
///
/// The channels must be looked at in their order: a call that waits for a sync is enqueued after
/// its children, so that they are seen if it is.
///
/// Source   thesis §4.3.2, §4.3.3, §4.5.2
class cilk_scheduler {
public:
  /// What a kernel is told of calls that its wavefronts take to their ends.
  static constexpr std::uint32_t to_their_ends = 1;

  /// `stacks` channels a level; `enough` elements are worth a dispatch while kernels run, and so
  /// many calls, if the order is hybrid, are taken to their ends.
  cilk_scheduler(std::uint32_t stacks, traversal order, std::uint32_t enough) noexcept
      : stacks_(stacks), order_(order), enough_(enough) {}

  [[nodiscard]] std::optional<channel_choice> operator()(std::span<channel_state const> channels,
                                                         bool is_idle) const;

private:
  [[nodiscard]] std::optional<channel_choice>
  deepest(std::span<channel_state const> channels) const;
  [[nodiscard]] std::optional<channel_choice> shallowest(std::span<channel_state const> channels,
                                                         bool is_idle) const;

  std::uint32_t stacks_;
  traversal order_;
  std::uint32_t enough_;
};

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/channel_orders.hpp>
#include <quarry/emu/lane_mask.hpp>
#include <quarry/emu/lanes.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace quarry::emu {

/// How a wavefront reserves elements (thesis Figure 4-15): each of its work-items for itself, or
/// one for all of them (Figure 4-3).
enum class channel_reservation : std::uint8_t { per_work_item, per_wavefront };

/// What a wavefront does that finds no room: it waits in its slot on the compute unit, or gives the
/// slot up until the aggregator restarts it (thesis §4.4). Other actors wait in any case.
enum class when_full : std::uint8_t { wait, yield };

struct channel_options {
  std::uint32_t width = 1024; ///< elements
  std::uint32_t elements_per_done_count = 64;
  channel_reservation reservation = channel_reservation::per_wavefront;
  /// No two elements share a cache line: what a linked list would do to memory (Figure 4-15).
  bool is_padded = false;
  when_full full = when_full::wait;
  channel_orders orders{};
  std::string name = "channel";
};

/// What a channel has done; counted under deterministic schedulers, where the counts are exact.
/// Their sum is that of several channels, but for `most`: of the one that had most.
struct channel_counts {
  std::uint64_t allocated = 0;    ///< elements
  std::uint64_t reservations = 0; ///< that found room
  std::uint64_t refusals = 0;     ///< that found none
  std::uint64_t exchanges = 0;    ///< compare-and-swaps, those that failed, too
  std::uint64_t additions = 0;    ///< other atomic updates
  std::uint64_t most = 0;         ///< elements that were in the channel at the same time

  channel_counts& operator+=(channel_counts const& o) noexcept {
    allocated += o.allocated;
    reservations += o.reservations;
    refusals += o.refusals;
    exchanges += o.exchanges;
    additions += o.additions;
    most = std::max(most, o.most);
    return *this;
  }
};

/// How full a channel is, for reports.
struct channel_usage {
  std::uint32_t in_use;  ///< elements that are allocated and have not been given back
  std::uint32_t waiting; ///< producers that wait in their slots for room
};

/// Elements that an actor has allocated and not yet enqueued: `count` in a row, from `first` on.
struct channel_elements {
  void const* channel = nullptr;
  std::uint32_t first = 0; ///< position in the data array; positions wrap at the width
  std::uint32_t count = 0;
};
/// The same for the work-items of a wavefront, a row each.
template<int Size>
struct wave_elements {
  void const* channel = nullptr;
  lanes<std::uint32_t, Size> first{};
  lanes<std::uint32_t, Size> count{};
  lane_mask got{}; ///< those that have their elements, also who asked for none
};

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/always_inline.hpp>
#include <quarry/emu/lane_mask.hpp>
#include <quarry/emu/lanes.hpp>
#include <quarry/emu/reductions.hpp>

#include <concepts>
#include <cstdint>

namespace quarry::emu {

/// Combines the active lanes' values; the inactive ones submit the identity.
///
/// The order is fixed, so that a float sum is the same on every compiler, vector width and mask
/// path: lane l meets lane l + Size/2, the results l + Size/4, and so on down to one.
///
/// Shape    an Op that is a template works on whole halves; one for T alone goes lane by lane
template<lane_value T, int Size, reduction_of<T> Op>
[[nodiscard]] inline T reduce(lanes<T, Size> const& v, Op op, lane_mask active) noexcept;

/// Lane l gets the sum of the active lanes below it; inactive lanes get 0. `total` becomes the sum
/// of all active lanes.
///
/// The order is fixed here too: distances 1, 2, 4, … Size/2, each lane adding the one so far below.
template<lane_value T, int Size>
[[nodiscard]] inline lanes<T, Size> exclusive_prefix_sum(lanes<T, Size> const& v, lane_mask active,
                                                         T& total) noexcept;
template<lane_value T, int Size>
[[nodiscard]] inline lanes<T, Size> exclusive_prefix_sum(lanes<T, Size> const& v,
                                                         lane_mask active) noexcept;

// Of values alone, whoever is active: a kernel has wavefront::shuffle() and broadcast().

/// Lane l gets lane source[l]'s value; sources are taken modulo Size.
template<lane_value T, int Size, std::integral I>
[[nodiscard]] inline lanes<T, Size> shuffle(lanes<T, Size> const& v,
                                            lanes<I, Size> const& source) noexcept;
/// Lane l gets lane (l ^ pattern)'s value; 0 ≤ pattern < Size.
template<lane_value T, int Size>
[[nodiscard]] inline lanes<T, Size> shuffle_xor(lanes<T, Size> const& v, int pattern) noexcept;
/// Lane l gets lane l + delta's value; the last `delta` lanes keep their own. 0 ≤ delta ≤ Size.
template<lane_value T, int Size>
[[nodiscard]] inline lanes<T, Size> shuffle_down(lanes<T, Size> const& v, int delta) noexcept;
/// Lane l gets lane l - delta's value; the first `delta` lanes keep their own. 0 ≤ delta ≤ Size.
template<lane_value T, int Size>
[[nodiscard]] inline lanes<T, Size> shuffle_up(lanes<T, Size> const& v, int delta) noexcept;
/// Every lane gets lane `lane`'s value.
template<lane_value T, int Size>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<T, Size> broadcast(lanes<T, Size> const& v,
                                                                   int lane) noexcept {
  return lanes<T, Size>(v[lane]);
}
/// The active lanes' values packed to the front, in order; the rest is 0.
template<lane_value T, int Size>
[[nodiscard]] inline lanes<T, Size> compact(lanes<T, Size> const& v, lane_mask active) noexcept;

} // namespace quarry::emu

#include <quarry/emu/lane_algorithms_x86.hpp>

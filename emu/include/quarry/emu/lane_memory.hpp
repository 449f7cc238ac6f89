// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/affine.hpp>
#include <quarry/emu/lane_mask.hpp>
#include <quarry/emu/lanes.hpp>
#include <quarry/emu/native_memory_access.hpp>

#include <cstdint>

namespace quarry::emu {

// How the lanes of a wavefront reach raw memory. Nothing is checked here; the memory models do
// that. A masked-off lane touches no memory, so that an index may lie outside the array there; it
// reads as zero. Addresses are aligned for T, no more.
//
// The shape of an access follows from the index's type: rows of consecutive elements move a
// register at a time, a row broadcast reads one element a row, anything else is a gather or scatter
// (about ten times slower).

/// Lane l gets base[index[l]], each lane by itself.
template<lane_value T, class I, int Size>
[[nodiscard]] inline lanes<T, Size> gather_lanes(T const* base, lanes<I, Size> const& index,
                                                 lane_mask active) noexcept;

/// base[index[l]] becomes lane l's value. Lanes with the same index store in ascending order, so
/// that the highest one's value stays.
template<lane_value T, class I, int Size>
inline void scatter_lanes(T* base, lanes<I, Size> const& index, lanes<T, Size> const& value,
                          lane_mask active) noexcept;

/// Lane l gets base[at[l]].
template<lane_value T, int Size, class I, int W, int S>
[[nodiscard]] inline lanes<T, Size> load_lanes(T const* base, affine<I, W, S, Size> const& at,
                                               lane_mask active) noexcept;
template<lane_value T, int Size, class I>
[[nodiscard, gnu::always_inline]] inline lanes<T, Size>
load_lanes(T const* base, lanes<I, Size> const& at, lane_mask active) noexcept {
  return gather_lanes(base, at, active);
}

/// base[at[l]] becomes lane l's value, in ascending order where lanes meet.
template<lane_value T, int Size, class I, int W, int S>
inline void store_lanes(T* base, affine<I, W, S, Size> const& at, lanes<T, Size> const& value,
                        lane_mask active) noexcept;
template<lane_value T, int Size, class I>
[[gnu::always_inline]] inline void store_lanes(T* base, lanes<I, Size> const& at,
                                               lanes<T, Size> const& value,
                                               lane_mask active) noexcept {
  scatter_lanes(base, at, value, active);
}

// Implementation

template<lane_value T, class I, int Size>
inline lanes<T, Size> gather_lanes(T const* base, lanes<I, Size> const& index,
                                   lane_mask active) noexcept {
  alignas(native_vector_bytes) T values[Size] = {};
  (active & lane_mask::all(Size)).for_each([&](int l) { values[l] = base[index[l]]; });
  lanes<T, Size> r;
  __builtin_memcpy(&r, values, sizeof r);
  return r;
}

template<lane_value T, class I, int Size>
inline void scatter_lanes(T* base, lanes<I, Size> const& index, lanes<T, Size> const& value,
                          lane_mask active) noexcept {
  (active & lane_mask::all(Size)).for_each([&](int l) { base[index[l]] = value[l]; });
}

/// A part of a load whose lanes are consecutive in rows at least as wide as the part.
template<int First, class Access, class T, class I, int W, int Size>
[[nodiscard, gnu::always_inline]] inline auto
load_part(T const* base, affine<I, W, 1, Size> const& at, lane_mask active, bool is_full) noexcept
    -> typename Access::vector {
  T const* const from = base + at.row_base(First / W) + First % W;
  return is_full ? Access::load(from) : Access::load(from, active.bits() >> First);
}

/// A part of a load whose lanes all read the same element.
template<int First, class Access, class T, class I, int W, int Size>
[[nodiscard, gnu::always_inline]] inline auto
load_part(T const* base, affine<I, W, 0, Size> const& at, lane_mask active, bool is_full) noexcept
    -> typename Access::vector {
  using part = typename Access::part;
  T const* const from = base + at.row_base(First / W);
  if (is_full)
    return part::broadcast(*from);
  auto const m = part::from_bits(active.bits() >> First);
  if (part::bits(m) == 0)
    return typename Access::vector{};
  return part::select(m, part::broadcast(*from), typename Access::vector{});
}

template<lane_value T, int Size, class I, int W, int S>
[[gnu::always_inline]] inline lanes<T, Size>
load_lanes(T const* base, affine<I, W, S, Size> const& at, lane_mask active) noexcept {
  using result = lanes<T, Size>;
  using access = native_access<T, result::lanes_per_part>;
  if constexpr ((S == 0 || S == 1) && W >= result::lanes_per_part) {
    bool const is_full = active.is_full(Size);
    return result::from_parts([&](auto k) __attribute__((always_inline)) {
      return load_part<k * result::lanes_per_part, access>(base, at, active, is_full);
    });
  } else {
    return gather_lanes(base, at.to_lanes(), active);
  }
}

template<lane_value T, int Size, class I, int W, int S>
[[gnu::always_inline]] inline void store_lanes(T* base, affine<I, W, S, Size> const& at,
                                               lanes<T, Size> const& value,
                                               lane_mask active) noexcept {
  constexpr int count = lanes<T, Size>::lanes_per_part;
  using access = native_access<T, count>;
  if constexpr (S == 1 && W >= count) {
    bool const is_full = active.is_full(Size);
    [&]<int... K>(std::integer_sequence<int, K...>) __attribute__((always_inline)) {
      auto const store_part = [&](auto k, T* to) __attribute__((always_inline)) {
        if (is_full)
          access::store(to, value.part(k));
        else
          access::store(to, value.part(k), active.bits() >> (k * count));
      };
      (store_part(std::integral_constant<int, K>{},
                  base + at.row_base(K * count / W) + K * count % W),
       ...);
    }(std::make_integer_sequence<int, Size / count>{});
  } else {
    scatter_lanes(base, at.to_lanes(), value, active);
  }
}

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/affine.hpp>
#include <quarry/emu/always_inline.hpp>
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
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<T, Size>
load_lanes(T const* base, lanes<I, Size> const& at, lane_mask active) noexcept {
  return gather_lanes(base, at, active);
}

/// base[at[l]] becomes lane l's value, in ascending order where lanes meet.
template<lane_value T, int Size, class I, int W, int S>
inline void store_lanes(T* base, affine<I, W, S, Size> const& at, lanes<T, Size> const& value,
                        lane_mask active) noexcept;
template<lane_value T, int Size, class I>
QUARRY_ALWAYS_INLINE inline void store_lanes(T* base, lanes<I, Size> const& at,
                                             lanes<T, Size> const& value,
                                             lane_mask active) noexcept {
  scatter_lanes(base, at, value, active);
}

// Implementation

/// Lanes from `Size` values in memory.
template<lane_value T, int Size>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<T, Size> from_memory(T const* values) noexcept {
  using result = lanes<T, Size>;
  return result::from_parts([&](auto k) QUARRY_ALWAYS_INLINE {
    return native_access<T, result::lanes_per_part>::load(values + k * result::lanes_per_part);
  });
}

template<lane_value T, class I, int Size>
QUARRY_ALWAYS_INLINE inline lanes<T, Size> gather_lanes(T const* base, lanes<I, Size> const& index,
                                                        lane_mask active) noexcept {
  using result = lanes<T, Size>;
  using part_access = native_access<T, result::lanes_per_part>;
  using gather_index = typename part_access::gather_index;
  if constexpr (part_access::gathers &&
                (sizeof(I) < sizeof(gather_index) || std::same_as<I, gather_index>)) {
    auto const at = convert<gather_index>(index);
    return result::from_parts([&](auto k) QUARRY_ALWAYS_INLINE {
      return part_access::gather(base, at.part(k), active.bits() >> (k * result::lanes_per_part));
    });
  }
  alignas(native_vector_bytes) T values[Size] = {};
  alignas(native_vector_bytes) I at[Size];
  __builtin_memcpy(at, &index, sizeof at);
  if (active.is_full(Size))
    for (int l = 0; l < Size; ++l)
      values[l] = base[at[l]];
  else
    (active & lane_mask::all(Size)).for_each([&](int l) { values[l] = base[at[l]]; });
  return from_memory<T, Size>(values);
}

template<lane_value T, class I, int Size>
inline void scatter_lanes(T* base, lanes<I, Size> const& index, lanes<T, Size> const& value,
                          lane_mask active) noexcept {
  alignas(native_vector_bytes) T values[Size];
  alignas(native_vector_bytes) I at[Size];
  __builtin_memcpy(values, &value, sizeof values);
  __builtin_memcpy(at, &index, sizeof at);
  if (active.is_full(Size))
    for (int l = 0; l < Size; ++l)
      base[at[l]] = values[l];
  else
    (active & lane_mask::all(Size)).for_each([&](int l) { base[at[l]] = values[l]; });
}

/// True if a register's worth of lanes lies in one row, so that no gather is needed.
template<class T, int Size, int W, int S>
inline constexpr bool moves_by_part = (S == 0 || S == 1) && W >= lanes<T, Size>::lanes_per_part;

template<lane_value T, int Size, class I, int W, int S>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<T, Size>
load_all(T const* base, affine<I, W, S, Size> const& at) noexcept {
  using result = lanes<T, Size>;
  using part = typename result::part_type;
  return result::from_parts([&](auto k) QUARRY_ALWAYS_INLINE {
    constexpr int first = k * result::lanes_per_part;
    T const* const from = base + at.row_base(first / W);
    if constexpr (S == 0)
      return part::broadcast(*from);
    else
      return native_access<T, result::lanes_per_part>::load(from + first % W);
  });
}

template<lane_value T, int Size, class I, int W, int S>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<T, Size>
load_some(T const* base, affine<I, W, S, Size> const& at, lane_mask active) noexcept {
  using result = lanes<T, Size>;
  using part = typename result::part_type;
  return result::from_parts([&](auto k) QUARRY_ALWAYS_INLINE {
    constexpr int first = k * result::lanes_per_part;
    T const* const from = base + at.row_base(first / W);
    std::uint64_t const bits = active.bits() >> first;
    if constexpr (S == 0) {
      auto const m = part::from_bits(bits);
      typename result::vector const nothing{};
      return part::bits(m) == 0 ? nothing : part::select(m, part::broadcast(*from), nothing);
    } else {
      return native_access<T, result::lanes_per_part>::load(from + first % W, bits);
    }
  });
}

#if !defined(QUARRY_EMU_AVX512) && !defined(__clang__)
/// Without mask registers a masked load is long. Out of line, loops around a load stay small enough
/// for g++ to unswitch (clang would spill); `pure` keeps the caller's mask known across it.
template<lane_value T, int Size, class I, int W, int S>
[[nodiscard, gnu::noinline, gnu::cold, gnu::pure]] lanes<T, Size>
load_some_apart(T const* base, affine<I, W, S, Size> at, lane_mask active) noexcept {
  return load_some<T, Size>(base, at, active);
}
#endif

template<lane_value T, int Size, class I, int W, int S>
QUARRY_ALWAYS_INLINE inline lanes<T, Size>
load_lanes(T const* base, affine<I, W, S, Size> const& at, lane_mask active) noexcept {
  if constexpr (moves_by_part<T, Size, W, S>) {
    if (active.is_full(Size)) [[likely]]
      return load_all<T, Size>(base, at);
#if defined(QUARRY_EMU_AVX512) || defined(__clang__)
    return load_some<T, Size>(base, at, active);
#else
    return load_some_apart<T, Size>(base, at, active);
#endif
  } else {
    return gather_lanes(base, at.to_lanes(), active);
  }
}

template<lane_value T, int Size, class I, int W, int S>
QUARRY_ALWAYS_INLINE inline void store_lanes(T* base, affine<I, W, S, Size> const& at,
                                             lanes<T, Size> const& value,
                                             lane_mask active) noexcept {
  constexpr int count = lanes<T, Size>::lanes_per_part;
  using part_access = native_access<T, count>;
  if constexpr (S == 1 && W >= count) {
    bool const is_full = active.is_full(Size);
    [&]<int... K>(std::integer_sequence<int, K...>) QUARRY_ALWAYS_INLINE {
      auto const store_part = [&](auto k, T* to) QUARRY_ALWAYS_INLINE {
        if (is_full)
          part_access::store(to, value.part(k));
        else
          part_access::store(to, value.part(k), active.bits() >> (k * count));
      };
      (store_part(std::integral_constant<int, K>{},
                  base + at.row_base(K * count / W) + K * count % W),
       ...);
    }(std::make_integer_sequence<int, Size / count>{});
  } else {
    scatter_lanes(base, at.to_lanes(), value, active);
  }
}

/// Brings what the active lanes would load into the cache.
template<lane_value T, int Size, class I>
inline void prefetch_lanes(T const* base, lanes<I, Size> const& at, lane_mask active) noexcept {
  active.for_each([&](int l) {
    __builtin_prefetch(reinterpret_cast<void const*>(
        reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(at[l]) * sizeof(T)));
  });
}
/// Of a row the whole, active or not.
template<lane_value T, int Size, class I, int W, int S>
QUARRY_ALWAYS_INLINE inline void prefetch_lanes(T const* base, affine<I, W, S, Size> const& at,
                                                lane_mask active) noexcept {
  constexpr int per_line = std::max<int>(1, 64 / sizeof(T));
  // As numbers: a hint may name what is beyond the end.
  auto const first = reinterpret_cast<std::uintptr_t>(base);
  if constexpr (S == 1 && W >= Size) {
    auto const row = first + static_cast<std::uintptr_t>(at.row_base(0)) * sizeof(T);
    for (int l = 0; l < Size; l += per_line)
      __builtin_prefetch(reinterpret_cast<void const*>(row + static_cast<unsigned>(l) * sizeof(T)));
  } else {
    prefetch_lanes<T, Size>(base, at.to_lanes(), active);
  }
}

} // namespace quarry::emu

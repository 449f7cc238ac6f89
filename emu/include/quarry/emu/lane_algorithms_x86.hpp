// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of lane_algorithms.hpp, which includes this file at its end.

#include <quarry/emu/always_inline.hpp>
#include <quarry/emu/lane_algorithms.hpp>
#include <quarry/emu/lane_memory.hpp>

#include <bit>
#include <concepts>
#include <utility>

namespace quarry::emu {

/// reduce() without a mask, by halves.
template<lane_value T, int Size, class Op>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline T combine_all(lanes<T, Size> const& v, Op op) noexcept {
  if constexpr (Size == 2) {
    auto const pair = v.part(0);
    return static_cast<T>(op(static_cast<T>(pair[0]), static_cast<T>(pair[1])));
  } else {
    auto const low = low_half(v);
    auto const high = high_half(v);
    if constexpr (requires { op(low, high); })
      return combine_all(op(low, high), op);
    else
      return combine_all(
          lanes<T, Size / 2>::generate([&](int l) { return static_cast<T>(op(low[l], high[l])); }),
          op);
  }
}

template<lane_value T, int Size, reduction_of<T> Op>
QUARRY_ALWAYS_INLINE inline T reduce(lanes<T, Size> const& v, Op op, lane_mask active) noexcept {
  T const nothing = Op::template identity<T>();
  T const all =
      combine_all(active.is_full(Size) ? v : select(active, v, lanes<T, Size>(nothing)), op);
  if constexpr (std::floating_point<T>) // a sum of -0 alone is +0, as with a mask
    return static_cast<T>(op(all, nothing));
  else
    return all;
}

/// Lane l gets lane l - D's value; the first D lanes get 0.
template<int D, lane_value T, int Size>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<T, Size>
shift_up_by(lanes<T, Size> const& v) noexcept {
  constexpr int count = lanes<T, Size>::lanes_per_part;
  constexpr int whole = D / count;
  constexpr int rest = D % count;
  auto const part_or_zero = [&](auto k) QUARRY_ALWAYS_INLINE {
    if constexpr (k < 0)
      return typename lanes<T, Size>::vector{};
    else
      return v.part(k);
  };
  return lanes<T, Size>::from_parts([&](auto k) QUARRY_ALWAYS_INLINE {
    auto const current = part_or_zero(std::integral_constant<int, k - whole>{});
    if constexpr (rest == 0) {
      return current;
    } else {
      auto const before = part_or_zero(std::integral_constant<int, k - whole - 1>{});
      return [&]<int... I>(std::integer_sequence<int, I...>) QUARRY_ALWAYS_INLINE {
        return __builtin_shufflevector(before, current, (count - rest + I)...);
      }(std::make_integer_sequence<int, count>{});
    }
  });
}

template<lane_value T, int Size>
QUARRY_ALWAYS_INLINE inline lanes<T, Size>
exclusive_prefix_sum(lanes<T, Size> const& v, lane_mask active, T& total) noexcept {
  lane_predicate<T, Size> const here(active);
  lanes<T, Size> const zero(T{0});
  auto sums = select(here, v, zero);
  sums += shift_up_by<1>(sums);
  if constexpr (Size > 2)
    sums += shift_up_by<2>(sums);
  if constexpr (Size > 4)
    sums += shift_up_by<4>(sums);
  if constexpr (Size > 8)
    sums += shift_up_by<8>(sums);
  if constexpr (Size > 16)
    sums += shift_up_by<16>(sums);
  if constexpr (Size > 32)
    sums += shift_up_by<32>(sums);
  total = sums[Size - 1];
  return select(here, shift_up_by<1>(sums), zero);
}
template<lane_value T, int Size>
QUARRY_ALWAYS_INLINE inline lanes<T, Size> exclusive_prefix_sum(lanes<T, Size> const& v,
                                                                lane_mask active) noexcept {
  T total;
  return exclusive_prefix_sum(v, active, total);
}

/// Lane l of `v`'s parts First … First + Count - 1, for lane numbers below theirs: `source` modulo
/// that many lanes.
template<int First, int Count, lane_value T, int Size>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline auto
look_up(lanes<T, Size> const& v, typename lanes<T, Size>::part_type::integer_type source) noexcept
    -> typename lanes<T, Size>::vector {
  using part = typename lanes<T, Size>::part_type;
  if constexpr (Count > 2) {
    constexpr auto bit =
        static_cast<typename part::integer>(lanes<T, Size>::lanes_per_part * Count / 2);
    using index = native_vector<typename part::integer, lanes<T, Size>::lanes_per_part>;
    auto const is_upper = index::template compare<comparison::not_equal>(
        source & index::broadcast(bit), typename index::type{});
    return part::select(is_upper, look_up<First + Count / 2, Count / 2>(v, source),
                        look_up<First, Count / 2>(v, source));
  } else {
    return part::permute(v.part(First), v.part(First + Count - 1), source);
  }
}

template<lane_value T, int Size, std::integral I>
QUARRY_ALWAYS_INLINE inline lanes<T, Size> shuffle(lanes<T, Size> const& v,
                                                   lanes<I, Size> const& source) noexcept {
  using part = typename lanes<T, Size>::part_type;
  if constexpr (part::permutes) {
    auto const from = convert<typename part::integer>(source);
    return lanes<T, Size>::from_parts([&](auto k) QUARRY_ALWAYS_INLINE {
      return look_up<0, lanes<T, Size>::part_count>(v, from.part(k));
    });
  } else {
    alignas(native_vector_bytes) T from[Size];
    alignas(native_vector_bytes) I index[Size];
    alignas(native_vector_bytes) T values[Size];
    __builtin_memcpy(from, &v, sizeof from);
    __builtin_memcpy(index, &source, sizeof index);
    for (int l = 0; l < Size; ++l)
      values[l] = from[static_cast<unsigned>(index[l]) % static_cast<unsigned>(Size)];
    return from_memory<T, Size>(values);
  }
}

/// The lane numbers 0, 1, …, as wide as T (so that no conversion is needed).
template<lane_value T, int Size>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline auto lane_numbers() noexcept {
  return lanes<typename lanes<T, Size>::part_type::integer, Size>::iota();
}

template<lane_value T, int Size>
QUARRY_ALWAYS_INLINE inline lanes<T, Size> shuffle_xor(lanes<T, Size> const& v,
                                                       int pattern) noexcept {
  return shuffle(v, lane_numbers<T, Size>() ^ pattern);
}

template<lane_value T, int Size>
QUARRY_ALWAYS_INLINE inline lanes<T, Size> shuffle_down(lanes<T, Size> const& v,
                                                        int delta) noexcept {
  auto const l = lane_numbers<T, Size>();
  return shuffle(v, select(l < Size - delta, l + delta, l));
}

template<lane_value T, int Size>
QUARRY_ALWAYS_INLINE inline lanes<T, Size> shuffle_up(lanes<T, Size> const& v, int delta) noexcept {
  auto const l = lane_numbers<T, Size>();
  return shuffle(v, select(l >= delta, l - delta, l));
}

template<lane_value T, int Size>
inline lanes<T, Size> compact(lanes<T, Size> const& v, lane_mask active) noexcept {
  using part = typename lanes<T, Size>::part_type;
  constexpr int count = lanes<T, Size>::lanes_per_part;
  active &= lane_mask::all(Size);
  // Parts are stored whole, one over the other's unused end.
  alignas(native_vector_bytes) T packed[Size + count] = {};
  T* next = packed;
  for (int k = 0; k < lanes<T, Size>::part_count; ++k) {
    auto const rest = lane_mask(active.bits() >> (k * count)) & lane_mask::first_n(count);
    next += part::compress(next, v.part(k), rest.bits());
  }
  return from_memory<T, Size>(packed);
}

} // namespace quarry::emu

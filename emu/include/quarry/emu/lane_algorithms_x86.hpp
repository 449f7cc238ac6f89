// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of lane_algorithms.hpp, which includes this file at its end.

#include <quarry/emu/lane_algorithms.hpp>

#include <bit>
#include <utility>

namespace quarry::emu {

/// reduce() without a mask, by halves.
template<lane_value T, int Size, class Op>
[[nodiscard, gnu::always_inline]] inline T combine_all(lanes<T, Size> const& v, Op op) noexcept {
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
[[gnu::always_inline]] inline T reduce(lanes<T, Size> const& v, Op op, lane_mask active) noexcept {
  T const nothing = Op::template identity<T>();
  return combine_all(active.is_full(Size) ? v : select(active, v, lanes<T, Size>(nothing)), op);
}

/// Lane l gets lane l - D's value; the first D lanes get 0.
template<int D, lane_value T, int Size>
[[nodiscard, gnu::always_inline]] inline lanes<T, Size>
shift_up_by(lanes<T, Size> const& v) noexcept {
  constexpr int count = lanes<T, Size>::lanes_per_part;
  constexpr int whole = D / count;
  constexpr int rest = D % count;
  auto const part_or_zero = [&](auto k) __attribute__((always_inline)) {
    if constexpr (k < 0)
      return typename lanes<T, Size>::vector{};
    else
      return v.part(k);
  };
  return lanes<T, Size>::from_parts([&](auto k) __attribute__((always_inline)) {
    auto const current = part_or_zero(std::integral_constant<int, k - whole>{});
    if constexpr (rest == 0) {
      return current;
    } else {
      auto const before = part_or_zero(std::integral_constant<int, k - whole - 1>{});
      return [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
        return __builtin_shufflevector(before, current, (count - rest + I)...);
      }(std::make_integer_sequence<int, count>{});
    }
  });
}

template<lane_value T, int Size>
[[gnu::always_inline]] inline lanes<T, Size>
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
[[gnu::always_inline]] inline lanes<T, Size> exclusive_prefix_sum(lanes<T, Size> const& v,
                                                                  lane_mask active) noexcept {
  T total;
  return exclusive_prefix_sum(v, active, total);
}

/// lanes in memory, for what needs lane numbers known at run time only.
template<lane_value T, int Size>
struct spilled_lanes {
  alignas(native_vector_bytes) T values[Size];

  explicit spilled_lanes(lanes<T, Size> const& v) noexcept {
    __builtin_memcpy(values, &v, sizeof values);
  }
};

template<lane_value T, int Size, std::integral I>
inline lanes<T, Size> shuffle(lanes<T, Size> const& v, lanes<I, Size> const& source) noexcept {
  spilled_lanes<T, Size> const from(v);
  return lanes<T, Size>::generate([&](int l) {
    return from.values[static_cast<unsigned>(source[l]) % static_cast<unsigned>(Size)];
  });
}

template<lane_value T, int Size>
inline lanes<T, Size> shuffle_xor(lanes<T, Size> const& v, int pattern) noexcept {
  spilled_lanes<T, Size> const from(v);
  return lanes<T, Size>::generate([&](int l) { return from.values[(l ^ pattern) % Size]; });
}

template<lane_value T, int Size>
inline lanes<T, Size> shuffle_down(lanes<T, Size> const& v, int delta) noexcept {
  spilled_lanes<T, Size> const from(v);
  return lanes<T, Size>::generate(
      [&](int l) { return from.values[l + delta < Size ? l + delta : l]; });
}

template<lane_value T, int Size>
inline lanes<T, Size> shuffle_up(lanes<T, Size> const& v, int delta) noexcept {
  spilled_lanes<T, Size> const from(v);
  return lanes<T, Size>::generate([&](int l) { return from.values[l >= delta ? l - delta : l]; });
}

template<lane_value T, int Size>
inline lanes<T, Size> compact(lanes<T, Size> const& v, lane_mask active) noexcept {
  spilled_lanes<T, Size> const from(v);
  lanes<T, Size> packed{};
  int next = 0;
  (active & lane_mask::all(Size)).for_each([&](int l) { packed.set(next++, from.values[l]); });
  return packed;
}

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The bodies of convert() and of integer division, and halves of lanes; lanes.hpp includes this
// file at its end.

#include <quarry/emu/always_inline.hpp>
#include <quarry/emu/lanes.hpp>

namespace quarry::emu {

/// `Count` of a vector's elements, the first of them element `First`.
template<int First, int Count, class T, int From>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline auto
slice(typename native_vector<T, From>::type v) noexcept -> typename native_vector<T, Count>::type {
  if constexpr (Count == From)
    return v;
  else
    return [&]<int... I>(std::integer_sequence<int, I...>) QUARRY_ALWAYS_INLINE {
      return __builtin_shufflevector(v, v, (First + I)...);
    }(std::make_integer_sequence<int, Count>{});
}

/// The elements of `a`, then those of `b`.
template<class T, int Count>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline auto
concatenate(typename native_vector<T, Count>::type a,
            typename native_vector<T, Count>::type b) noexcept ->
    typename native_vector<T, 2 * Count>::type {
  return [&]<int... I>(std::integer_sequence<int, I...>) QUARRY_ALWAYS_INLINE {
    return __builtin_shufflevector(a, b, I...);
  }(std::make_integer_sequence<int, 2 * Count>{});
}

/// `Count` elements made of pieces of `Piece` elements: f(0), f(1), …
template<class T, int Count, int Piece, int First = 0, class F>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline auto assemble(F const& f) noexcept ->
    typename native_vector<T, Count>::type {
  if constexpr (Count == Piece)
    return f(std::integral_constant<int, First>{});
  else
    return concatenate<T, Count / 2>(assemble<T, Count / 2, Piece, First>(f),
                                     assemble<T, Count / 2, Piece, First + Count / 2 / Piece>(f));
}

template<lane_value U, lane_value T, int Size>
QUARRY_ALWAYS_INLINE inline lanes<U, Size> convert(lanes<T, Size> const& v) noexcept {
  using from = lanes<T, Size>;
  using to = lanes<U, Size>;
  constexpr int piece =
      from::lanes_per_part < to::lanes_per_part ? from::lanes_per_part : to::lanes_per_part;
  auto const convert_piece = [&](auto n) QUARRY_ALWAYS_INLINE {
    constexpr int first = n * piece;
    return __builtin_convertvector(
        (slice<first % from::lanes_per_part, piece, T, from::lanes_per_part>(
            v.part(first / from::lanes_per_part))),
        typename native_vector<U, piece>::type);
  };
  return to::from_parts([&](auto k) QUARRY_ALWAYS_INLINE {
    return assemble<U, to::lanes_per_part, piece, k*(to::lanes_per_part / piece)>(convert_piece);
  });
}

/// The same bits as another type of the same width.
template<lane_value U, lane_value T, int Size>
  requires(sizeof(U) == sizeof(T))
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<U, Size>
reinterpret(lanes<T, Size> const& v) noexcept {
  return lanes<U, Size>::from_parts(
      [&](auto k) QUARRY_ALWAYS_INLINE { return (typename lanes<U, Size>::vector)v.part(k); });
}

/// Lanes 0 … Size / 2 - 1.
template<lane_value T, int Size>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<T, Size / 2>
low_half(lanes<T, Size> const& v) noexcept {
  using half = lanes<T, Size / 2>;
  return half::from_parts([&](auto k) QUARRY_ALWAYS_INLINE {
    return slice<0, half::lanes_per_part, T, lanes<T, Size>::lanes_per_part>(v.part(k));
  });
}
/// Lanes Size / 2 … Size - 1.
template<lane_value T, int Size>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<T, Size / 2>
high_half(lanes<T, Size> const& v) noexcept {
  using whole = lanes<T, Size>;
  using half = lanes<T, Size / 2>;
  if constexpr (whole::part_count > 1)
    return half::from_parts([&](auto k)
                                QUARRY_ALWAYS_INLINE { return v.part(k + half::part_count); });
  else
    return half::from_parts(
        [&](auto) QUARRY_ALWAYS_INLINE { return slice<Size / 2, Size / 2, T, Size>(v.part(0)); });
}

/// Integer quotients. 32-bit ones go by way of double, whose 53 bits make the truncated quotient
/// exact, because hardware divides no vectors of integers.
template<std::integral T, int Size>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<T, Size>
quotient(lanes<T, Size> const& a, lanes<T, Size> const& b) noexcept {
  using part = typename lanes<T, Size>::part_type;
  auto const divisor = lanes<T, Size>::map(part::safe_divisor, a, b);
  if constexpr (sizeof(T) == 4)
    return convert<T>(convert<double>(a) / convert<double>(divisor));
  else
    return lanes<T, Size>::map(part::divide, a, divisor);
}

} // namespace quarry::emu

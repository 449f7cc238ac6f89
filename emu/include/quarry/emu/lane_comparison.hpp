// SPDX-License-Identifier: Apache-2.0
#pragma once

// Comparisons of lanes with integers of types that have other values; lanes.hpp includes this file
// at its end.

#include <quarry/emu/lanes.hpp>

#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>

namespace quarry::emu {

/// An integer that may be none of T's values: larger ones, or negative ones beside unsigned.
template<class N, class T>
concept integer_beyond = std::integral<N> && std::integral<T> &&
                         (std::numeric_limits<N>::digits > std::numeric_limits<T>::digits ||
                          (std::is_signed_v<N> && !std::is_signed_v<T>));

/// Where a number stands to all values of T.
enum class place_in_range { below, within, above };

template<std::integral T, std::integral N>
[[nodiscard]] constexpr place_in_range place_of(N n) noexcept {
  // Promoted, since std::cmp_less takes no characters.
  if (std::cmp_less(+n, +std::numeric_limits<T>::min()))
    return place_in_range::below;
  return std::cmp_greater(+n, +std::numeric_limits<T>::max()) ? place_in_range::above
                                                              : place_in_range::within;
}

/// `compared` if n is a value of T, else the same for all lanes.
template<std::integral T, int Size, std::integral N>
[[nodiscard, gnu::always_inline]] inline lane_predicate<T, Size>
compared_in_range(N n, lane_predicate<T, Size> const& compared, bool if_below,
                  bool if_above) noexcept {
  place_in_range const place = place_of<T>(n);
  if (place == place_in_range::within) [[likely]]
    return compared;
  bool const is_so = place == place_in_range::below ? if_below : if_above;
  return lane_predicate<T, Size>(is_so ? lane_mask::all(Size) : lane_mask());
}

/// Mathematically less: -1 is below an unsigned number.
// clang-format off
template<std::integral T, int Size, integer_beyond<T> N>
[[nodiscard, gnu::always_inline]] inline lane_predicate<T, Size> operator<(lanes<T, Size> const& a, N n) noexcept { return compared_in_range<T, Size>(n, a < static_cast<T>(n), false, true); }
template<std::integral T, int Size, integer_beyond<T> N>
[[nodiscard, gnu::always_inline]] inline lane_predicate<T, Size> operator<=(lanes<T, Size> const& a, N n) noexcept { return compared_in_range<T, Size>(n, a <= static_cast<T>(n), false, true); }
template<std::integral T, int Size, integer_beyond<T> N>
[[nodiscard, gnu::always_inline]] inline lane_predicate<T, Size> operator>(lanes<T, Size> const& a, N n) noexcept { return compared_in_range<T, Size>(n, a > static_cast<T>(n), true, false); }
template<std::integral T, int Size, integer_beyond<T> N>
[[nodiscard, gnu::always_inline]] inline lane_predicate<T, Size> operator>=(lanes<T, Size> const& a, N n) noexcept { return compared_in_range<T, Size>(n, a >= static_cast<T>(n), true, false); }
template<std::integral T, int Size, integer_beyond<T> N>
[[nodiscard, gnu::always_inline]] inline lane_predicate<T, Size> operator==(lanes<T, Size> const& a, N n) noexcept { return compared_in_range<T, Size>(n, a == static_cast<T>(n), false, false); }
template<std::integral T, int Size, integer_beyond<T> N>
[[nodiscard, gnu::always_inline]] inline lane_predicate<T, Size> operator!=(lanes<T, Size> const& a, N n) noexcept { return compared_in_range<T, Size>(n, a != static_cast<T>(n), true, true); }

template<std::integral T, int Size, integer_beyond<T> N>
[[nodiscard, gnu::always_inline]] inline lane_predicate<T, Size> operator<(N n, lanes<T, Size> const& a) noexcept { return a > n; }
template<std::integral T, int Size, integer_beyond<T> N>
[[nodiscard, gnu::always_inline]] inline lane_predicate<T, Size> operator<=(N n, lanes<T, Size> const& a) noexcept { return a >= n; }
template<std::integral T, int Size, integer_beyond<T> N>
[[nodiscard, gnu::always_inline]] inline lane_predicate<T, Size> operator>(N n, lanes<T, Size> const& a) noexcept { return a < n; }
template<std::integral T, int Size, integer_beyond<T> N>
[[nodiscard, gnu::always_inline]] inline lane_predicate<T, Size> operator>=(N n, lanes<T, Size> const& a) noexcept { return a <= n; }
template<std::integral T, int Size, integer_beyond<T> N>
[[nodiscard, gnu::always_inline]] inline lane_predicate<T, Size> operator==(N n, lanes<T, Size> const& a) noexcept { return a == n; }
template<std::integral T, int Size, integer_beyond<T> N>
[[nodiscard, gnu::always_inline]] inline lane_predicate<T, Size> operator!=(N n, lanes<T, Size> const& a) noexcept { return a != n; }
// clang-format on

} // namespace quarry::emu

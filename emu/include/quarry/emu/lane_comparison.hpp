// SPDX-License-Identifier: Apache-2.0
#pragma once

// Comparisons of lanes with integers of types that have other values; lanes.hpp includes this file
// at its end.

#include <quarry/emu/always_inline.hpp>
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
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lane_predicate<T, Size>
compared_in_range(N n, lane_predicate<T, Size> const& compared, bool if_below,
                  bool if_above) noexcept {
  place_in_range const place = place_of<T>(n);
  if (place == place_in_range::within) [[likely]]
    return compared;
  bool const is_so = place == place_in_range::below ? if_below : if_above;
  return lane_predicate<T, Size>(is_so ? lane_mask::all(Size) : lane_mask());
}

/// The lanes that an operand stands for: itself, or the value of a register (where.hpp).
template<class T, int Size>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<T, Size> const&
register_lanes(lanes<T, Size> const& v) noexcept {
  return v;
}
template<class L>
concept lane_operand = requires(L const& v) { register_lanes(v).part(0); };
template<lane_operand L>
using register_value = std::remove_cvref_t<decltype(register_lanes(std::declval<L const&>())[0])>;

/// Mathematically less: -1 is below an unsigned number.
// clang-format off
template<lane_operand L, integer_beyond<register_value<L>> N>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline auto operator<(L const& a, N n) noexcept { return compared_in_range(n, register_lanes(a) < static_cast<register_value<L>>(n), false, true); }
template<lane_operand L, integer_beyond<register_value<L>> N>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline auto operator<=(L const& a, N n) noexcept { return compared_in_range(n, register_lanes(a) <= static_cast<register_value<L>>(n), false, true); }
template<lane_operand L, integer_beyond<register_value<L>> N>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline auto operator>(L const& a, N n) noexcept { return compared_in_range(n, register_lanes(a) > static_cast<register_value<L>>(n), true, false); }
template<lane_operand L, integer_beyond<register_value<L>> N>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline auto operator>=(L const& a, N n) noexcept { return compared_in_range(n, register_lanes(a) >= static_cast<register_value<L>>(n), true, false); }
template<lane_operand L, integer_beyond<register_value<L>> N>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline auto operator==(L const& a, N n) noexcept { return compared_in_range(n, register_lanes(a) == static_cast<register_value<L>>(n), false, false); }
template<lane_operand L, integer_beyond<register_value<L>> N>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline auto operator!=(L const& a, N n) noexcept { return compared_in_range(n, register_lanes(a) != static_cast<register_value<L>>(n), true, true); }

template<lane_operand L, integer_beyond<register_value<L>> N>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline auto operator<(N n, L const& a) noexcept { return a > n; }
template<lane_operand L, integer_beyond<register_value<L>> N>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline auto operator<=(N n, L const& a) noexcept { return a >= n; }
template<lane_operand L, integer_beyond<register_value<L>> N>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline auto operator>(N n, L const& a) noexcept { return a < n; }
template<lane_operand L, integer_beyond<register_value<L>> N>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline auto operator>=(N n, L const& a) noexcept { return a <= n; }
template<lane_operand L, integer_beyond<register_value<L>> N>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline auto operator==(N n, L const& a) noexcept { return a == n; }
template<lane_operand L, integer_beyond<register_value<L>> N>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline auto operator!=(N n, L const& a) noexcept { return a != n; }
// clang-format on

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Comparisons of affine indices with numbers; affine.hpp includes this file at its end.

#include <quarry/emu/affine.hpp>

#include <limits>
#include <utility>

namespace quarry::emu {

/// How many of base, base + 1, base + 2, … are below n, at most `most`. Signedness does not matter.
template<std::integral I, std::integral N>
[[nodiscard]] constexpr int count_below(I base, N n, int most) noexcept {
  if (std::cmp_less_equal(n, base))
    return 0;
  // More than 2^64 apart, perhaps.
  if (base < 0 && std::cmp_greater(n, std::numeric_limits<std::int64_t>::max()))
    return most;
  auto const distance = static_cast<std::uint64_t>(n) - static_cast<std::uint64_t>(base);
  return distance < static_cast<std::uint64_t>(most) ? static_cast<int>(distance) : most;
}

/// The lanes whose index is less than n: a prefix if it is linear, else prefixes of the rows, or
/// rows.
///
/// Mathematically less: -1 is below an unsigned number.
template<class I, int W, int S, int Size, std::integral N>
[[nodiscard]] constexpr lane_mask operator<(affine<I, W, S, Size> a, N n) noexcept {
  if constexpr (W == Size && S == 1) {
    return lane_mask::first_n(count_below(a.base(), n, Size));
  } else if constexpr (S == 1 || S == 0) {
    std::uint64_t bits = 0;
    for (int r = 0; r < Size / W; ++r) {
      int const below = S == 1                            ? count_below(a.row_base(r), n, W)
                        : std::cmp_less(a.row_base(r), n) ? W
                                                          : 0;
      bits |= lane_mask::first_n(below).bits() << (r * W);
    }
    return lane_mask(bits);
  } else {
    std::uint64_t bits = 0;
    for (int l = 0; l < Size; ++l)
      bits |= std::uint64_t{std::cmp_less(a[l], n)} << l;
    return lane_mask(bits);
  }
}
template<class I, int W, int S, int Size, std::integral N>
[[nodiscard]] constexpr lane_mask operator>=(affine<I, W, S, Size> a, N n) noexcept {
  return lane_mask::all(Size).without(a < n);
}
template<class I, int W, int S, int Size, std::integral N>
[[nodiscard]] constexpr lane_mask operator<=(affine<I, W, S, Size> a, N n) noexcept {
  if constexpr (sizeof(N) < sizeof(std::int64_t))
    return a < std::int64_t{n} + 1;
  else
    return n == std::numeric_limits<N>::max() ? lane_mask::all(Size) : a < static_cast<N>(n + 1);
}
template<class I, int W, int S, int Size, std::integral N>
[[nodiscard]] constexpr lane_mask operator>(affine<I, W, S, Size> a, N n) noexcept {
  return lane_mask::all(Size).without(a <= n);
}
template<class I, int W, int S, int Size, std::integral N>
[[nodiscard]] constexpr lane_mask operator==(affine<I, W, S, Size> a, N n) noexcept {
  return (a <= n).without(a < n);
}
template<class I, int W, int S, int Size, std::integral N>
[[nodiscard]] constexpr lane_mask operator!=(affine<I, W, S, Size> a, N n) noexcept {
  return lane_mask::all(Size).without(a == n);
}

// clang-format off
template<class I, int W, int S, int Size, std::integral N>
[[nodiscard]] constexpr lane_mask operator<(N n, affine<I, W, S, Size> a) noexcept { return a > n; }
template<class I, int W, int S, int Size, std::integral N>
[[nodiscard]] constexpr lane_mask operator<=(N n, affine<I, W, S, Size> a) noexcept { return a >= n; }
template<class I, int W, int S, int Size, std::integral N>
[[nodiscard]] constexpr lane_mask operator>(N n, affine<I, W, S, Size> a) noexcept { return a < n; }
template<class I, int W, int S, int Size, std::integral N>
[[nodiscard]] constexpr lane_mask operator>=(N n, affine<I, W, S, Size> a) noexcept { return a <= n; }
template<class I, int W, int S, int Size, std::integral N>
[[nodiscard]] constexpr lane_mask operator==(N n, affine<I, W, S, Size> a) noexcept { return a == n; }
template<class I, int W, int S, int Size, std::integral N>
[[nodiscard]] constexpr lane_mask operator!=(N n, affine<I, W, S, Size> a) noexcept { return a != n; }
// clang-format on

} // namespace quarry::emu

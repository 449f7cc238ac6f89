// SPDX-License-Identifier: Apache-2.0
#pragma once

// Arithmetic with affine indices; affine.hpp includes this file at its end.

#include <quarry/emu/affine.hpp>
#include <quarry/emu/always_inline.hpp>

namespace quarry::emu {

// Sums and differences with numbers.

template<class I, int W, int S, int Size, std::integral N>
[[nodiscard]] constexpr auto operator+(affine<I, W, S, Size> a, N n) noexcept {
  using J = wider_index<I, N>;
  return affine<J, W, S, Size>(static_cast<J>(a.base() + static_cast<J>(n)), a.row());
}
template<class I, int W, int S, int Size, std::integral N>
[[nodiscard]] constexpr auto operator+(N n, affine<I, W, S, Size> a) noexcept {
  return a + n;
}
template<class I, int W, int S, int Size, std::integral N>
[[nodiscard]] constexpr auto operator-(affine<I, W, S, Size> a, N n) noexcept {
  using J = wider_index<I, N>;
  return affine<J, W, S, Size>(static_cast<J>(a.base() - static_cast<J>(n)), a.row());
}
template<class I, int W, int S, int Size>
[[nodiscard]] constexpr affine<I, W, -S, Size> operator-(affine<I, W, S, Size> a) noexcept {
  return {static_cast<I>(-a.base()), static_cast<I>(-a.row())};
}
template<class I, int W, int S, int Size, std::integral N>
[[nodiscard]] constexpr auto operator-(N n, affine<I, W, S, Size> a) noexcept {
  return -a + n;
}

// Sums and differences of indices: of the same width, or one of them linear or uniform.

template<class I, int W, int S, class J, int V, int R, int Size>
  requires(V == W || V == Size || W == Size)
[[nodiscard]] constexpr auto operator+(affine<I, W, S, Size> a, affine<J, V, R, Size> b) noexcept {
  using K = wider_index<I, J>;
  if constexpr (V == W)
    return affine<K, W, S + R, Size>(static_cast<K>(K{a.base()} + b.base()),
                                     static_cast<K>(K{a.row()} + b.row()));
  else if constexpr (V == Size)
    return a + in_rows_of<W>(b);
  else
    return in_rows_of<V>(a) + b;
}
template<class I, int W, int S, class J, int V, int R, int Size>
  requires(V == W || V == Size || W == Size)
[[nodiscard]] constexpr auto operator-(affine<I, W, S, Size> a, affine<J, V, R, Size> b) noexcept {
  return a + -b;
}

// Products: by a constant, or, where the lanes of a row are all alike, by any number.

template<class I, int W, int S, int Size, std::integral N, N n>
[[nodiscard]] constexpr auto operator*(affine<I, W, S, Size> a,
                                       std::integral_constant<N, n>) noexcept {
  static_assert(std::in_range<int>(+n), "an affine index has a step of at most 2^31 - 1");
  using J = wider_index<I, N>;
  return affine<J, W, S* static_cast<int>(n), Size>(static_cast<J>(a.base() * static_cast<J>(n)),
                                                    static_cast<J>(a.row() * static_cast<J>(n)));
}
template<class I, int W, int Size, std::integral N>
[[nodiscard]] constexpr auto operator*(affine<I, W, 0, Size> a, N n) noexcept {
  using J = wider_index<I, N>;
  return affine<J, W, 0, Size>(static_cast<J>(a.base() * static_cast<J>(n)),
                               static_cast<J>(a.row() * static_cast<J>(n)));
}
template<class N, class I, int W, int S, int Size>
  requires requires(affine<I, W, S, Size> a, N n) { a* n; } &&
           (std::integral<N> || requires { N::value; })
[[nodiscard]] constexpr auto operator*(N n, affine<I, W, S, Size> a) noexcept {
  return a * n;
}

// With arbitrary indices.

/// The values of any per-lane index.
template<class I, int W, int S, int Size>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<I, Size>
as_lanes(affine<I, W, S, Size> const& a) noexcept {
  return a.to_lanes();
}
template<class I, int Size>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<I, Size>
as_lanes(lanes<I, Size> const& v) noexcept {
  return v;
}

// clang-format off
template<class I, int W, int S, int Size>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<I, Size> operator+(affine<I, W, S, Size> a, lanes<I, Size> const& b) noexcept { return a.to_lanes() + b; }
template<class I, int W, int S, int Size>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<I, Size> operator+(lanes<I, Size> const& a, affine<I, W, S, Size> b) noexcept { return a + b.to_lanes(); }
template<class I, int W, int S, int Size>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<I, Size> operator-(affine<I, W, S, Size> a, lanes<I, Size> const& b) noexcept { return a.to_lanes() - b; }
template<class I, int W, int S, int Size>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<I, Size> operator-(lanes<I, Size> const& a, affine<I, W, S, Size> b) noexcept { return a - b.to_lanes(); }
template<class I, int W, int S, int Size>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<I, Size> operator*(affine<I, W, S, Size> a, lanes<I, Size> const& b) noexcept { return a.to_lanes() * b; }
template<class I, int W, int S, int Size>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline lanes<I, Size> operator*(lanes<I, Size> const& a, affine<I, W, S, Size> b) noexcept { return a * b.to_lanes(); }
// clang-format on

// What is no affine index any more. They give one, so that the compiler says only this.

/// False, once it is known whose.
template<class>
inline constexpr bool is_affine_result = false;

template<class I, int W, int S, int Size, std::integral N>
affine<I, W, S, Size> operator/(affine<I, W, S, Size> a, N) {
  static_assert(is_affine_result<I>, "the quotient of an affine index is none: to_lanes() first");
  return a;
}
template<class I, int W, int S, int Size, std::integral N>
  requires(S != 0)
affine<I, W, S, Size> operator*(affine<I, W, S, Size> a, N) {
  static_assert(is_affine_result<I>, "the step of an affine index is known when it is compiled: "
                                     "times a std::integral_constant, or to_lanes() first");
  return a;
}
template<class I, int W, int S, int Size, std::integral N>
affine<I, W, S, Size> operator%(affine<I, W, S, Size> a, N) {
  static_assert(is_affine_result<I>, "the remainder of an affine index is none: to_lanes() first");
  return a;
}
template<class I, int W, int S, int Size, std::integral N>
affine<I, W, S, Size> operator&(affine<I, W, S, Size> a, N) {
  static_assert(is_affine_result<I>, "the bits of an affine index are none: to_lanes() first");
  return a;
}

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/always_inline.hpp>

#include <concepts>
#include <limits>
#include <type_traits>

namespace quarry::emu {

// What reductions combine with. Each works on two numbers and on two lanes<T>, and knows the value
// that inactive lanes submit. Integers wrap around. Whether a NaN comes out of a minimum or maximum
// of several numbers depends on where it stands.

/// Sum. Its identity is +0, so an all-negative-zero sum is +0.
struct plus {
  template<class T>
  [[nodiscard]] static constexpr T identity() noexcept {
    return T{0};
  }
  template<class T>
  [[nodiscard]] QUARRY_ALWAYS_INLINE constexpr T operator()(T const& a, T const& b) const noexcept {
    if constexpr (std::integral<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) +
                            static_cast<std::make_unsigned_t<T>>(b));
    else
      return a + b;
  }
};

/// The smaller; the left one unless the right one is less.
struct minimum {
  template<class T>
  [[nodiscard]] static constexpr T identity() noexcept {
    if constexpr (std::floating_point<T>)
      return std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::max();
  }
  template<class T>
  [[nodiscard]] QUARRY_ALWAYS_INLINE constexpr T operator()(T const& a, T const& b) const noexcept {
    if constexpr (std::is_arithmetic_v<T>)
      return b < a ? b : a;
    else
      return min(a, b);
  }
};

/// The larger; the left one unless it is less.
struct maximum {
  template<class T>
  [[nodiscard]] static constexpr T identity() noexcept {
    if constexpr (std::floating_point<T>)
      return -std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::min();
  }
  template<class T>
  [[nodiscard]] QUARRY_ALWAYS_INLINE constexpr T operator()(T const& a, T const& b) const noexcept {
    if constexpr (std::is_arithmetic_v<T>)
      return a < b ? b : a;
    else
      return max(a, b);
  }
};

struct bit_and {
  template<std::integral T>
  [[nodiscard]] static constexpr T identity() noexcept {
    return static_cast<T>(-1);
  }
  template<class T>
  [[nodiscard]] QUARRY_ALWAYS_INLINE constexpr T operator()(T const& a, T const& b) const noexcept {
    return static_cast<T>(a & b);
  }
};

struct bit_or {
  template<std::integral T>
  [[nodiscard]] static constexpr T identity() noexcept {
    return T{0};
  }
  template<class T>
  [[nodiscard]] QUARRY_ALWAYS_INLINE constexpr T operator()(T const& a, T const& b) const noexcept {
    return static_cast<T>(a | b);
  }
};

struct bit_xor {
  template<std::integral T>
  [[nodiscard]] static constexpr T identity() noexcept {
    return T{0};
  }
  template<class T>
  [[nodiscard]] QUARRY_ALWAYS_INLINE constexpr T operator()(T const& a, T const& b) const noexcept {
    return static_cast<T>(a ^ b);
  }
};

/// A reduction over T: associative and commutative but for rounding, with an identity.
template<class Op, class T>
concept reduction_of = requires(Op op, T a) {
  { op(a, a) } -> std::convertible_to<T>;
  { Op::template identity<T>() } -> std::convertible_to<T>;
};

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/always_inline.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <immintrin.h>
#include <limits>
#include <type_traits>
#include <utility>

// Which instructions the element masks are made of. Not a switch: it follows -march.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define QUARRY_EMU_AVX512 1
#endif

namespace quarry::emu {

#if defined(QUARRY_EMU_AVX512)
inline constexpr int native_vector_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int native_vector_bytes = 32;
#else
inline constexpr int native_vector_bytes = 16;
#endif

/// What a lane may hold: an integer of 1, 2, 4 or 8 bytes, float or double.
template<class T>
concept lane_value = (std::integral<T> && !std::same_as<T, bool>) || std::same_as<T, float> ||
                     std::same_as<T, double>;

enum class comparison { equal, less, less_equal, not_equal, greater_equal, greater };

/// One native register's worth of lanes: `Count` elements of type T, and what the vector extensions
/// do not say: comparisons into the machine's own kind of mask, and selection by one.
///
/// The mask is a bit per element with AVX-512, otherwise a vector of all-ones and zeros. Integers
/// wrap around, signed ones too (the arithmetic is done unsigned).
template<lane_value T, int Count>
struct native_vector {
  static constexpr int bytes = Count * static_cast<int>(sizeof(T));
  template<class U>
  struct vector_of {
    // NOLINTNEXTLINE(*-use-using)
    typedef U type __attribute__((vector_size(static_cast<std::size_t>(Count) * sizeof(U))));
  };
  template<std::size_t Width>
  struct integer_of {
    using type = std::conditional_t<
        Width == 1, std::int8_t,
        std::conditional_t<Width == 2, std::int16_t,
                           std::conditional_t<Width == 4, std::int32_t, std::int64_t>>>;
  };
  using type = typename vector_of<T>::type;
  using integer = typename integer_of<sizeof(T)>::type; ///< signed, as wide as T
  using unsigned_integer = std::make_unsigned_t<integer>;
  using unsigned_type = typename vector_of<unsigned_integer>::type;
  using integer_type = typename vector_of<integer>::type;

  QUARRY_ALWAYS_INLINE static type broadcast(T x) noexcept {
    return x - type{}; // not `+`, which would turn -0.0 into 0.0
  }
  /// 0, 1, 2, …
  QUARRY_ALWAYS_INLINE static type iota() noexcept {
    return [&]<int... I>(std::integer_sequence<int, I...>) QUARRY_ALWAYS_INLINE {
      return type{static_cast<T>(I)...};
    }(std::make_integer_sequence<int, Count>{});
  }

  QUARRY_ALWAYS_INLINE static type add(type a, type b) noexcept {
    return (type)(wrapping(a) + wrapping(b));
  }
  QUARRY_ALWAYS_INLINE static type subtract(type a, type b) noexcept {
    return (type)(wrapping(a) - wrapping(b));
  }
  QUARRY_ALWAYS_INLINE static type multiply(type a, type b) noexcept {
    return (type)(wrapping(a) * wrapping(b));
  }
  /// Integers: every divisor must be a safe one.
  QUARRY_ALWAYS_INLINE static type divide(type a, type b) noexcept { return a / b; }
  /// `b`, but 1 where a / b would trap: by 0, and the least value by -1.
  QUARRY_ALWAYS_INLINE static type safe_divisor(type a, type b) noexcept {
    auto unsafe = b == type{};
    if constexpr (std::signed_integral<T>)
      unsafe |= (a == broadcast(std::numeric_limits<T>::min())) & (b == broadcast(-1));
    return unsafe ? broadcast(1) : b;
  }
  QUARRY_ALWAYS_INLINE static type minimum(type a, type b) noexcept { return b < a ? b : a; }
  QUARRY_ALWAYS_INLINE static type maximum(type a, type b) noexcept { return a < b ? b : a; }
  QUARRY_ALWAYS_INLINE static type negate(type a) noexcept { return (type)-wrapping(a); }
  QUARRY_ALWAYS_INLINE static type absolute(type a) noexcept {
    if constexpr (std::floating_point<T>)
      return (type)((integer_type)a & std::numeric_limits<integer>::max());
    else if constexpr (std::signed_integral<T>)
      return a < type{} ? negate(a) : a;
    else
      return a;
  }
  QUARRY_ALWAYS_INLINE static type bit_and(type a, type b) noexcept { return a & b; }
  QUARRY_ALWAYS_INLINE static type bit_or(type a, type b) noexcept { return a | b; }
  QUARRY_ALWAYS_INLINE static type bit_xor(type a, type b) noexcept { return a ^ b; }
  QUARRY_ALWAYS_INLINE static type shift_left(type a, type n) noexcept {
    return (type)((unsigned_type)a << ((unsigned_type)n & count_mask));
  }
  QUARRY_ALWAYS_INLINE static type shift_right(type a, type n) noexcept {
    return a >> (type)((unsigned_type)n & count_mask);
  }
  QUARRY_ALWAYS_INLINE static type shift_left_by(type a, int n) noexcept {
    return (type)((unsigned_type)a << (n & count_mask));
  }
  QUARRY_ALWAYS_INLINE static type shift_right_by(type a, int n) noexcept {
    return a >> (n & count_mask);
  }
  QUARRY_ALWAYS_INLINE static type fused_multiply_add(type a, type b, type c) noexcept;
  QUARRY_ALWAYS_INLINE static type square_root(type a) noexcept;

#if defined(QUARRY_EMU_AVX512)
  using mask =
      std::conditional_t<Count <= 8, __mmask8,
                         std::conditional_t<Count == 16, __mmask16,
                                            std::conditional_t<Count == 32, __mmask32, __mmask64>>>;
#else
  using mask = integer_type;
#endif
  template<comparison C>
  QUARRY_ALWAYS_INLINE static mask compare(type a, type b) noexcept;
  /// Elements of `a` where the mask is set, of `b` elsewhere.
  QUARRY_ALWAYS_INLINE static type select(mask m, type a, type b) noexcept;
  /// Element i's bit is bit i.
  QUARRY_ALWAYS_INLINE static std::uint64_t bits(mask m) noexcept;
  /// From the lowest `Count` bits.
  QUARRY_ALWAYS_INLINE static mask from_bits(std::uint64_t bits) noexcept;

  /// True if permute() is there: a table look-up in two registers by one instruction.
#if defined(__AVX512VBMI__) && defined(QUARRY_EMU_AVX512)
  static constexpr bool permutes = bytes == 64;
#elif defined(QUARRY_EMU_AVX512)
  static constexpr bool permutes = bytes == 64 && sizeof(T) > 1;
#else
  static constexpr bool permutes = false;
#endif
  /// Element index[i] of the elements of `a` and then those of `b`, modulo their number.
  QUARRY_ALWAYS_INLINE static type permute(type a, type b, integer_type index) noexcept
    requires permutes;
  /// Stores the elements whose bits are set next to each other; gives how many. All `Count`
  /// elements at `at` may be written: those beyond become 0.
  QUARRY_ALWAYS_INLINE static int compress(T* at, type v, std::uint64_t bits) noexcept;

private:
  static constexpr integer count_mask = sizeof(T) * 8 - 1;

  QUARRY_ALWAYS_INLINE static auto wrapping(type a) noexcept {
    if constexpr (std::integral<T>)
      return (unsigned_type)a;
    else
      return a;
  }
};

} // namespace quarry::emu

#include <quarry/emu/native_vector_x86.hpp>

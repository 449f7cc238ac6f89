// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/always_inline.hpp>
#include <quarry/emu/lane_mask.hpp>
#include <quarry/emu/lane_predicate.hpp>
#include <quarry/emu/native_vector.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace quarry::emu {

template<lane_value T, int Size>
class lanes;
template<std::integral T, int Size>
[[nodiscard]] lanes<T, Size> quotient(lanes<T, Size> const& a, lanes<T, Size> const& b) noexcept;

/// What may stand for a whole lanes<T>: any number, but no fraction for integers.
template<class S, class T>
concept uniform_for = std::is_arithmetic_v<S> && (std::floating_point<T> || std::integral<S>);

/// `Size` values of type T, one for each lane of a wavefront: a pure value with elementwise
/// operators, kept in native registers. A number in an expression stands for every lane.
///
/// Integers wrap around, signed ones too; a number is cut as static_cast cuts it, but an integer of
/// a type with other values is compared as what it is (lane_comparison.hpp): no unsigned lane is
/// below 0, or equal to -1. Shift counts are taken
/// modulo the width. Integer division never traps: for inactive lanes, which often hold 0, x / 0
/// and x % 0 are x. Comparisons give a lane_predicate.
///
/// Nothing here takes the address of a value at run time except operator[], set() and generate():
/// a lane number that is not a constant forces the value into memory, so keep them out of hot code.
///
/// Shape    Size 32 or 64 in kernels; smaller powers of two only as halves of those
template<lane_value T, int Size>
class lanes {
  using layout = lane_layout<T, Size>;

public:
  using value_type = T;
  using part_type = typename layout::part;
  using vector = typename part_type::type;
  using predicate = lane_predicate<T, Size>;
  static constexpr int size = Size;
  static constexpr int part_count = layout::part_count;
  static constexpr int lanes_per_part = layout::lanes_per_part;

  /// Uninitialised, but `lanes{}` is all zeros.
  lanes() = default;
  template<uniform_for<T> S>
  QUARRY_ALWAYS_INLINE lanes(S x) noexcept // NOLINT(*-explicit-*)
      : lanes(from_parts([v = part_type::broadcast(static_cast<T>(x))](auto)
                             QUARRY_ALWAYS_INLINE { return v; })) {}

  /// base, base + step, base + 2 · step, …
  [[nodiscard]] QUARRY_ALWAYS_INLINE static lanes iota(T base = T{}, T step = T{1}) noexcept {
    return lanes(base) +
           lanes(step) * from_parts([](auto k) QUARRY_ALWAYS_INLINE {
             int const first = k * lanes_per_part;
             return part_type::add(part_type::iota(), part_type::broadcast(static_cast<T>(first)));
           });
  }
  /// f(0), f(1), …, in this order.
  template<class F>
  [[nodiscard]] static lanes generate(F&& f) {
    lanes r;
    for (int i = 0; i < Size; ++i)
      r.set(i, f(i));
    return r;
  }

  [[nodiscard]] T operator[](int lane) const noexcept {
    return parts_[lane / lanes_per_part][lane % lanes_per_part];
  }
  void set(int lane, T x) noexcept { parts_[lane / lanes_per_part][lane % lanes_per_part] = x; }
  /// The same values, but `x` in one lane.
  [[nodiscard]] QUARRY_ALWAYS_INLINE lanes with(int lane, T x) const noexcept {
    lanes const other(x);
    predicate const here(lane_mask::only(lane));
    return from_parts([&](auto k) QUARRY_ALWAYS_INLINE {
      return part_type::select(here.part(k), other.part(k), part(k));
    });
  }

  /// For operations on registers: part k, and lanes made of f(k) for each part, k a constant.
  [[nodiscard]] QUARRY_ALWAYS_INLINE vector part(int k) const noexcept { return parts_[k]; }
  template<class F>
  [[nodiscard]] QUARRY_ALWAYS_INLINE static lanes from_parts(F const& f) noexcept {
    return from_parts(f, std::make_integer_sequence<int, part_count>{});
  }
  /// Applies f to each part of the operands.
  template<class F, class... L>
  [[nodiscard]] QUARRY_ALWAYS_INLINE static lanes map(F const& f, L const&... v) noexcept {
    return from_parts([&](auto k) QUARRY_ALWAYS_INLINE { return f(v.part(k)...); });
  }

  // clang-format off
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lanes operator+(lanes const& a, lanes const& b) noexcept { return map(part_type::add, a, b); }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lanes operator-(lanes const& a, lanes const& b) noexcept { return map(part_type::subtract, a, b); }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lanes operator*(lanes const& a, lanes const& b) noexcept { return map(part_type::multiply, a, b); }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lanes operator/(lanes const& a, lanes const& b) noexcept {
    if constexpr (std::integral<T>)
      return quotient(a, b);
    else
      return map(part_type::divide, a, b);
  }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lanes operator%(lanes const& a, lanes const& b) noexcept requires std::integral<T> { return a - quotient(a, b) * b; }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lanes operator&(lanes const& a, lanes const& b) noexcept requires std::integral<T> { return map(part_type::bit_and, a, b); }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lanes operator|(lanes const& a, lanes const& b) noexcept requires std::integral<T> { return map(part_type::bit_or, a, b); }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lanes operator^(lanes const& a, lanes const& b) noexcept requires std::integral<T> { return map(part_type::bit_xor, a, b); }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lanes operator<<(lanes const& a, lanes const& n) noexcept requires std::integral<T> { return map(part_type::shift_left, a, n); }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lanes operator>>(lanes const& a, lanes const& n) noexcept requires std::integral<T> { return map(part_type::shift_right, a, n); }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lanes operator<<(lanes const& a, int n) noexcept requires std::integral<T> {
    return map([n](vector x) QUARRY_ALWAYS_INLINE { return part_type::shift_left_by(x, n); }, a);
  }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lanes operator>>(lanes const& a, int n) noexcept requires std::integral<T> {
    return map([n](vector x) QUARRY_ALWAYS_INLINE { return part_type::shift_right_by(x, n); }, a);
  }
  [[nodiscard]] QUARRY_ALWAYS_INLINE lanes operator-() const noexcept { return map(part_type::negate, *this); }
  [[nodiscard]] QUARRY_ALWAYS_INLINE lanes operator~() const noexcept requires std::integral<T> { return map([](vector x) QUARRY_ALWAYS_INLINE { return ~x; }, *this); }

  QUARRY_ALWAYS_INLINE lanes& operator+=(lanes const& o) noexcept { return *this = *this + o; }
  QUARRY_ALWAYS_INLINE lanes& operator-=(lanes const& o) noexcept { return *this = *this - o; }
  QUARRY_ALWAYS_INLINE lanes& operator*=(lanes const& o) noexcept { return *this = *this * o; }
  QUARRY_ALWAYS_INLINE lanes& operator/=(lanes const& o) noexcept { return *this = *this / o; }
  QUARRY_ALWAYS_INLINE lanes& operator%=(lanes const& o) noexcept { return *this = *this % o; }
  QUARRY_ALWAYS_INLINE lanes& operator&=(lanes const& o) noexcept { return *this = *this & o; }
  QUARRY_ALWAYS_INLINE lanes& operator|=(lanes const& o) noexcept { return *this = *this | o; }
  QUARRY_ALWAYS_INLINE lanes& operator^=(lanes const& o) noexcept { return *this = *this ^ o; }
  QUARRY_ALWAYS_INLINE lanes& operator<<=(int n) noexcept { return *this = *this << n; }
  QUARRY_ALWAYS_INLINE lanes& operator>>=(int n) noexcept { return *this = *this >> n; }

  [[nodiscard]] QUARRY_ALWAYS_INLINE friend predicate operator==(lanes const& a, lanes const& b) noexcept { return compare<comparison::equal>(a, b); }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend predicate operator!=(lanes const& a, lanes const& b) noexcept { return compare<comparison::not_equal>(a, b); }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend predicate operator<(lanes const& a, lanes const& b) noexcept { return compare<comparison::less>(a, b); }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend predicate operator<=(lanes const& a, lanes const& b) noexcept { return compare<comparison::less_equal>(a, b); }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend predicate operator>(lanes const& a, lanes const& b) noexcept { return compare<comparison::greater>(a, b); }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend predicate operator>=(lanes const& a, lanes const& b) noexcept { return compare<comparison::greater_equal>(a, b); }

  /// The smaller, lane by lane; `a` unless b < a (so a NaN in `b` is ignored).
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lanes min(lanes const& a, lanes const& b) noexcept { return map(part_type::minimum, a, b); }
  /// The larger, lane by lane; `a` unless a < b.
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lanes max(lanes const& a, lanes const& b) noexcept { return map(part_type::maximum, a, b); }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lanes abs(lanes const& a) noexcept { return map(part_type::absolute, a); }
  /// a · b + c rounded once, on every machine (a call per lane where the hardware has no FMA).
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lanes fma(lanes const& a, lanes const& b, lanes const& c) noexcept { return map(part_type::fused_multiply_add, a, b, c); }
  [[nodiscard]] QUARRY_ALWAYS_INLINE friend lanes sqrt(lanes const& a) noexcept requires std::floating_point<T> { return map(part_type::square_root, a); }
  // clang-format on

private:
  template<class F, int... K>
  QUARRY_ALWAYS_INLINE static lanes from_parts(F const& f,
                                               std::integer_sequence<int, K...>) noexcept {
    lanes r;
    ((r.parts_[K] = f(std::integral_constant<int, K>{})), ...);
    return r;
  }
  template<comparison C>
  QUARRY_ALWAYS_INLINE static predicate compare(lanes const& a, lanes const& b) noexcept {
    return predicate::from_parts([&](auto k) QUARRY_ALWAYS_INLINE {
      return part_type::template compare<C>(a.part(k), b.part(k));
    });
  }

  vector parts_[part_count];
};

/// The values as another type, as static_cast does it for each lane.
template<lane_value U, lane_value T, int Size>
[[nodiscard]] inline lanes<U, Size> convert(lanes<T, Size> const& v) noexcept;

} // namespace quarry::emu

#include <quarry/emu/lane_comparison.hpp>
#include <quarry/emu/lane_conversion.hpp>
#include <quarry/emu/lane_select.hpp>

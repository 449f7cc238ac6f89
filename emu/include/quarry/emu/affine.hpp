// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/always_inline.hpp>
#include <quarry/emu/lane_mask.hpp>
#include <quarry/emu/lanes.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace quarry::emu {

/// The index type of `I` plus a number of type N: wider if N is.
template<class I, class N>
using wider_index = std::conditional_t<(sizeof(N) > sizeof(I)), std::int64_t, I>;

/// An index that is consecutive in the lanes in rows of W: lane l has the value
/// `base + S · (l mod W) + row · (l / W)`. W and S are in the type, so that a memory access knows
/// its shape without looking at 64 addresses.
///
/// Closed under addition and subtraction of numbers and of indices with the same W (a linear one
/// goes with every W), under multiplication by a compile-time std::integral_constant, and, if S =
/// 0, by any number. Everything else says to_lanes() first, so that a gather can be seen; with
/// lanes<I> it gives lanes<I>. Comparing with a number gives a lane_mask, for linear indices
/// without any vector.
///
/// Shape    W a power of two ≤ Size; I int32 or int64 (the caller keeps values in range)
/// Source   design §3
template<class I, int W, int S, int Size>
class affine {
  static_assert(std::same_as<I, std::int32_t> || std::same_as<I, std::int64_t>,
                "an index is std::int32_t or std::int64_t");
  static_assert(W > 0 && W <= Size && (W & (W - 1)) == 0,
                "the width is a power of two, up to Size");

public:
  using value_type = I;
  static constexpr int width = W;
  static constexpr int step = S;
  static constexpr int size = Size;
  static constexpr int rows = Size / W;
  static constexpr bool is_linear = W == Size && S == 1;

  constexpr affine() = default;
  /// `row` says nothing if there is only one.
  constexpr explicit(rows != 1) affine(I base) noexcept : base_(base) {}
  constexpr affine(I base, I row) noexcept : base_(base), row_(row) {}
  /// A wider one.
  template<class J>
    requires(sizeof(J) < sizeof(I))
  constexpr affine(affine<J, W, S, Size> o) noexcept // NOLINT(*-explicit-*)
      : base_(o.base()), row_(o.row()) {}

  [[nodiscard]] constexpr I base() const noexcept { return base_; }
  [[nodiscard]] constexpr I row() const noexcept { return row_; }
  /// The value of the first lane of row r.
  [[nodiscard]] constexpr I row_base(int r) const noexcept {
    return static_cast<I>(base_ + row_ * r);
  }
  [[nodiscard]] constexpr I operator[](int lane) const noexcept {
    return static_cast<I>(row_base(lane / W) + I{S} * (lane % W));
  }
  [[nodiscard]] constexpr I first() const noexcept { return base_; }

  /// The values, one a lane; converted if U is not I.
  template<class U = I>
  [[nodiscard]] QUARRY_ALWAYS_INLINE lanes<U, Size> to_lanes() const noexcept {
    using result = lanes<I, Size>;
    auto const values = result::from_parts([&](auto k) QUARRY_ALWAYS_INLINE {
      return part_values<typename result::part_type, k * result::lanes_per_part,
                         result::lanes_per_part>();
    });
    if constexpr (std::same_as<U, I>)
      return values;
    else
      return convert<U>(values);
  }

private:
  template<class Part, int First, int Count>
  QUARRY_ALWAYS_INLINE typename Part::type part_values() const noexcept {
    constexpr auto steps = []<int... L>(std::integer_sequence<int, L...>) {
      return typename Part::type{static_cast<I>(I{S} * ((First + L) % W))...};
    }(std::make_integer_sequence<int, Count>{});
    if constexpr (Count <= W) {
      return Part::add(Part::broadcast(row_base(First / W)), steps);
    } else {
      constexpr auto row_numbers = []<int... L>(std::integer_sequence<int, L...>) {
        return typename Part::type{static_cast<I>((First + L) / W)...};
      }(std::make_integer_sequence<int, Count>{});
      return Part::add(Part::broadcast(base_),
                       Part::add(steps, Part::multiply(Part::broadcast(row_), row_numbers)));
    }
  }

  I base_ = 0;
  I row_ = 0;
};

/// The same value in every lane.
template<class I, int Size>
using uniform_index = affine<I, Size, 0, Size>;
/// base, base + 1, base + 2, …
template<class I, int Size>
using linear_index = affine<I, Size, 1, Size>;
/// One value for each row of W lanes: a tile's row number.
template<class I, int W, int Size>
using row_broadcast = affine<I, W, 0, Size>;
/// Consecutive within each row of W lanes: a tile's column number.
template<class I, int W, int Size>
using tile_row = affine<I, W, 1, Size>;

/// The same index in rows of W: a linear or uniform one can be seen so.
template<int W, class I, int S, int Size>
[[nodiscard]] constexpr affine<I, W, S, Size> in_rows_of(affine<I, Size, S, Size> a) noexcept {
  return {a.base(), static_cast<I>(S * W)};
}

} // namespace quarry::emu

#include <quarry/emu/affine_arithmetic.hpp>
#include <quarry/emu/affine_comparison.hpp>

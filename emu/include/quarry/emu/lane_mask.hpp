// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/always_inline.hpp>

#include <bit>
#include <cstdint>

namespace quarry::emu {

/// A set of lanes, one bit each; lane 0 is the lowest bit. What control flow works with; inside an
/// expression lane_predicate is faster.
///
/// A wavefront of 32 lanes uses the lower half. `!` flips all 64 bits, so use its result only
/// together with an exec mask: `exec & !m`, or exec.without(m).
class lane_mask {
public:
  static constexpr int capacity = 64;

  constexpr lane_mask() = default;
  explicit constexpr lane_mask(std::uint64_t bits) noexcept : bits_(bits) {}

  [[nodiscard]] static constexpr lane_mask none() noexcept { return lane_mask(0); }
  /// Lanes 0 … n - 1; none if n ≤ 0, all 64 if n ≥ 64.
  [[nodiscard]] static constexpr lane_mask first_n(int n) noexcept {
    return lane_mask(n <= 0 ? 0 : n >= capacity ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1);
  }
  /// Every lane of a wavefront of `size`.
  [[nodiscard]] static constexpr lane_mask all(int size) noexcept { return first_n(size); }
  /// Lane `i` alone; 0 ≤ i < 64.
  [[nodiscard]] static constexpr lane_mask only(int i) noexcept {
    return lane_mask(std::uint64_t{1} << i);
  }

  [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }
  [[nodiscard]] constexpr int count() const noexcept { return std::popcount(bits_); }
  [[nodiscard]] constexpr bool any() const noexcept { return bits_ != 0; }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
  /// True if the lanes 0 … size - 1 are all in it.
  [[nodiscard]] constexpr bool is_full(int size) const noexcept {
    return (all(size).bits_ & ~bits_) == 0;
  }
  /// 0 ≤ i < 64
  [[nodiscard]] constexpr bool test(int i) const noexcept { return ((bits_ >> i) & 1) != 0; }
  [[nodiscard]] constexpr bool includes(lane_mask other) const noexcept {
    return (other.bits_ & ~bits_) == 0;
  }

  /// The lowest lane; 64 if empty.
  [[nodiscard]] constexpr int first() const noexcept { return std::countr_zero(bits_); }
  /// The highest lane; -1 if empty.
  [[nodiscard]] constexpr int last() const noexcept { return 63 - std::countl_zero(bits_); }
  /// How many of its lanes are below `i` (0 ≤ i ≤ 64): a prefix count, so an active lane's slot.
  [[nodiscard]] constexpr int rank(int i) const noexcept {
    return std::popcount(bits_ & first_n(i).bits_);
  }

  [[nodiscard]] constexpr lane_mask without(lane_mask other) const noexcept {
    return lane_mask(bits_ & ~other.bits_);
  }
  constexpr void set(int i) noexcept { bits_ |= std::uint64_t{1} << i; }
  constexpr void reset(int i) noexcept { bits_ &= ~(std::uint64_t{1} << i); }

  /// Calls f(lane) for each of its lanes, ascending.
  template<class F>
  QUARRY_ALWAYS_INLINE constexpr void for_each(F&& f) const {
    for (std::uint64_t rest = bits_; rest != 0; rest &= rest - 1)
      f(std::countr_zero(rest));
  }
  /// The same, descending.
  template<class F>
  constexpr void for_each_backwards(F&& f) const {
    for (lane_mask rest = *this; rest.any(); rest.reset(rest.last()))
      f(rest.last());
  }

  [[nodiscard]] friend constexpr lane_mask operator&(lane_mask a, lane_mask b) noexcept {
    return lane_mask(a.bits_ & b.bits_);
  }
  [[nodiscard]] friend constexpr lane_mask operator|(lane_mask a, lane_mask b) noexcept {
    return lane_mask(a.bits_ | b.bits_);
  }
  [[nodiscard]] friend constexpr lane_mask operator^(lane_mask a, lane_mask b) noexcept {
    return lane_mask(a.bits_ ^ b.bits_);
  }
  [[nodiscard]] constexpr lane_mask operator!() const noexcept { return lane_mask(~bits_); }
  constexpr lane_mask& operator&=(lane_mask o) noexcept { return *this = *this & o; }
  constexpr lane_mask& operator|=(lane_mask o) noexcept { return *this = *this | o; }
  constexpr lane_mask& operator^=(lane_mask o) noexcept { return *this = *this ^ o; }
  friend constexpr bool operator==(lane_mask, lane_mask) = default;

private:
  std::uint64_t bits_ = 0;
};

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/always_inline.hpp>
#include <quarry/emu/lane_mask.hpp>
#include <quarry/emu/lanes.hpp>

namespace quarry::emu {

/// A block whose exec mask is narrower; restores the mask at its end, but for the lanes that have
/// left a loop meanwhile. Made by wavefront::where().
class [[nodiscard]] mask_scope {
public:
  mask_scope(lane_mask& exec, lane_mask condition, lane_mask const& left) noexcept
      : exec_(exec), left_(left), before_(exec) {
    exec_ = before_ & condition;
  }
  mask_scope(mask_scope const&) = delete;
  mask_scope& operator=(mask_scope const&) = delete;
  ~mask_scope() { exec_ = before_.without(left_); }
  /// True if any lane is active: a block with none is skipped. Not of one without a name, which
  /// has ended before its block: `if (auto const active = wf.where(condition))`.
  explicit operator bool() const& noexcept { return exec_.any(); }
  explicit operator bool() const&& = delete;

private:
  lane_mask& exec_;
  lane_mask const& left_;
  lane_mask before_;
};

/// A loop that remembers which lanes have left; restores the mask at its end. Made by
/// wavefront::loop().
class [[nodiscard]] mask_loop {
public:
  mask_loop(lane_mask& exec, lane_mask& left) noexcept : exec_(exec), left_(left), before_(exec) {}
  mask_loop(mask_loop const&) = delete;
  mask_loop& operator=(mask_loop const&) = delete;
  ~mask_loop() {
    left_ = left_.without(mine_); // those who left a loop around this one stay out
    exec_ = before_.without(left_);
  }

  /// Keeps the lanes for which the condition holds; true while there are any.
  bool keep(lane_mask condition) noexcept {
    exec_ = exec_ & condition;
    return exec_.any();
  }
  template<class T, int Size>
  bool keep(lane_predicate<T, Size> const& condition) noexcept {
    return keep(condition.bits());
  }
  /// Lets the active lanes go for which the condition holds (a `break`), also from a where() inside
  /// the loop, or from a loop inside it.
  void leave(lane_mask condition) noexcept {
    lane_mask const going = exec_ & condition;
    mine_ = mine_ | going;
    left_ = left_ | going;
    exec_ = exec_.without(going);
  }
  template<class T, int Size>
  void leave(lane_predicate<T, Size> const& condition) noexcept {
    leave(condition.bits());
  }

private:
  lane_mask& exec_;
  lane_mask& left_; ///< the lanes that have left this loop or one around it
  lane_mask before_;
  lane_mask mine_; ///< those that have left this one
};

/// A register: assigning to it changes the active lanes only. To operators it is its value; what
/// deduces the type of its argument, such as reduce() or select(), takes get().
/// Made by wavefront::variable().
///
/// Shape    Values = lanes<T, Size>, whose operators are found by it
template<class Values>
class masked_variable {
public:
  masked_variable(lane_mask const& exec, Values initial) noexcept : exec_(exec), value_(initial) {}
  masked_variable(masked_variable const&) noexcept = default;
  ~masked_variable() = default;

  masked_variable& operator=(masked_variable const& v) noexcept { return *this = v.value_; }
  masked_variable& operator=(Values const& v) noexcept {
    value_ = select(exec_, v, value_);
    return *this;
  }
  masked_variable& operator+=(Values const& v) noexcept { return *this = value_ + v; }
  masked_variable& operator-=(Values const& v) noexcept { return *this = value_ - v; }
  masked_variable& operator*=(Values const& v) noexcept { return *this = value_ * v; }
  masked_variable& operator/=(Values const& v) noexcept { return *this = value_ / v; }
  masked_variable& operator%=(Values const& v) noexcept { return *this = value_ % v; }
  masked_variable& operator&=(Values const& v) noexcept { return *this = value_ & v; }
  masked_variable& operator|=(Values const& v) noexcept { return *this = value_ | v; }
  masked_variable& operator^=(Values const& v) noexcept { return *this = value_ ^ v; }
  masked_variable& operator<<=(int n) noexcept { return *this = value_ << n; }
  masked_variable& operator>>=(int n) noexcept { return *this = value_ >> n; }
  [[nodiscard]] Values operator-() const noexcept { return -value_; }
  [[nodiscard]] Values operator~() const noexcept { return ~value_; }
  operator Values const&() const noexcept { return value_; } // NOLINT(*-explicit-*)
  [[nodiscard]] Values const& get() const noexcept { return value_; }

private:
  lane_mask const& exec_;
  Values value_;
};

template<class Values>
[[nodiscard]] QUARRY_ALWAYS_INLINE inline Values const&
register_lanes(masked_variable<Values> const& v) noexcept {
  return v.get();
}

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/lane_mask.hpp>
#include <quarry/emu/lanes.hpp>

#include <concepts>

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

/// A register: assigning to it changes the active lanes only. Made by wavefront::variable().
template<class T, int Size>
class masked_variable {
public:
  masked_variable(lane_mask const& exec, lanes<T, Size> initial) noexcept
      : exec_(exec), value_(initial) {}

  masked_variable& operator=(lanes<T, Size> const& v) noexcept {
    value_ = select(exec_, v, value_);
    return *this;
  }
  masked_variable& operator+=(lanes<T, Size> const& v) noexcept { return *this = value_ + v; }
  masked_variable& operator-=(lanes<T, Size> const& v) noexcept { return *this = value_ - v; }
  masked_variable& operator*=(lanes<T, Size> const& v) noexcept { return *this = value_ * v; }
  operator lanes<T, Size> const&() const noexcept { return value_; } // NOLINT(*-explicit-*)
  [[nodiscard]] lanes<T, Size> const& get() const noexcept { return value_; }

private:
  lane_mask const& exec_;
  lanes<T, Size> value_;
};

/// What has a value for each lane: lanes, or a variable.
template<class V, class T, int Size>
concept values_of = std::convertible_to<V const&, lanes<T, Size> const&>;

// A variable stands in an expression as its value does, on either side or on both.

template<class T, int Size, values_of<T, Size> V>
[[nodiscard]] lanes<T, Size> operator+(masked_variable<T, Size> const& a, V const& b) noexcept {
  return a.get() + static_cast<lanes<T, Size> const&>(b);
}
template<class T, int Size, values_of<T, Size> V>
[[nodiscard]] lanes<T, Size> operator-(masked_variable<T, Size> const& a, V const& b) noexcept {
  return a.get() - static_cast<lanes<T, Size> const&>(b);
}
template<class T, int Size, values_of<T, Size> V>
[[nodiscard]] lanes<T, Size> operator*(masked_variable<T, Size> const& a, V const& b) noexcept {
  return a.get() * static_cast<lanes<T, Size> const&>(b);
}
template<class T, int Size>
[[nodiscard]] lanes<T, Size> operator+(lanes<T, Size> const& a,
                                       masked_variable<T, Size> const& b) noexcept {
  return a + b.get();
}
template<class T, int Size>
[[nodiscard]] lanes<T, Size> operator-(lanes<T, Size> const& a,
                                       masked_variable<T, Size> const& b) noexcept {
  return a - b.get();
}
template<class T, int Size>
[[nodiscard]] lanes<T, Size> operator*(lanes<T, Size> const& a,
                                       masked_variable<T, Size> const& b) noexcept {
  return a * b.get();
}

} // namespace quarry::emu

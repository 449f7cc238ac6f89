// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace quarry::emu {

/// A typed address plus an index that differs from lane to lane: affine in the lane, or arbitrary.
/// What wavefronts load from and store to.
template<class T, class Index>
struct lane_address {
  T* base;
  Index index;
};

/// A typed address in some node's memory, trivially copyable. It is not dereferenced but given to
/// an actor's load(), store() and atomic operations, which know the order and the scope.
///
/// Adding an integer moves it; adding a per-lane index (affine<…>, lanes<int>) makes a
/// lane_address.
template<class T>
class global {
public:
  using value_type = std::remove_const_t<T>;

  constexpr global() = default;
  constexpr explicit global(T* at) noexcept : at_(at) {}
  /// A read-only view of a writable address.
  template<class U>
    requires std::same_as<U const, T>
  constexpr global(global<U> other) noexcept : at_(other.get()) {} // NOLINT(*-explicit-*)

  /// For the host and for memory models: the emulated address is the host's.
  [[nodiscard]] constexpr T* get() const noexcept { return at_; }

  template<std::integral I>
  [[nodiscard]] friend constexpr global operator+(global a, I elements) noexcept {
    return global(a.at_ + elements);
  }
  template<std::integral I>
  [[nodiscard]] friend constexpr global operator-(global a, I elements) noexcept {
    return global(a.at_ - elements);
  }
  template<class Index>
    requires(!std::integral<Index> && !std::convertible_to<Index, global>)
  [[nodiscard]] friend constexpr lane_address<T, Index> operator+(global a, Index index) noexcept {
    return {a.at_, index};
  }
  friend constexpr bool operator==(global, global) = default;
  explicit constexpr operator bool() const noexcept { return at_ != nullptr; }

private:
  T* at_ = nullptr;
};

/// A work-group's view of `Rows * Columns` elements of its LDS (or of `Rows` elements in a line).
///
/// Indexing with per-lane indices gives a lane_address, with integers a global (one element).
template<class T, int Rows, int Columns = 1>
class lds_view {
public:
  constexpr explicit lds_view(T* at) noexcept : at_(at) {}

  /// Element (row, column) of a tile; either may be an integer or a per-lane index.
  template<class Row, class Column>
  [[nodiscard]] constexpr auto operator()(Row row, Column column) const noexcept {
    if constexpr (requires { row* std::integral_constant<int, Columns>{}; })
      return *this + (row * std::integral_constant<int, Columns>{} + column);
    else // lanes<I>: any index each
      return *this + (row * Columns + column);
  }
  /// Element `index` in row-major order.
  template<class Index>
  [[nodiscard]] friend constexpr auto operator+(lds_view v, Index index) noexcept {
    return global<T>(v.at_) + index;
  }
  [[nodiscard]] constexpr T* get() const noexcept { return at_; }
  [[nodiscard]] static constexpr int size() noexcept { return Rows * Columns; }

private:
  T* at_;
};

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache_place.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace quarry::emu {

/// The places of a cache, by the number of a cell; all is 0 where nobody has been.
///
/// Shape    where they are many, an array in address space of its own: what nobody reaches takes no
///          memory, but for what shares a page with what somebody does; reach() may move it
/// Errors   of reach(): std::bad_alloc
class cache_places {
public:
  cache_places() = default;
  cache_places(cache_places&& from) noexcept
      : first_(std::exchange(from.first_, nullptr)), count_(std::exchange(from.count_, 0)) {}
  cache_places& operator=(cache_places&& from) noexcept {
    std::swap(first_, from.first_);
    std::swap(count_, from.count_);
    return *this;
  }
  ~cache_places() { clear(); }

  /// Null: neither it nor one behind it has been reached.
  [[nodiscard]] cache_place* find(std::uint32_t cell) const noexcept {
    return cell < count_ ? first_ + cell : nullptr;
  }
  /// One that is found.
  [[nodiscard]] cache_place& operator[](std::uint32_t cell) const noexcept { return first_[cell]; }
  /// `likely`: of so many others may be reached.
  cache_place& reach(std::uint32_t cell, std::size_t likely = 0) {
    if (cell >= count_)
      grow(std::max(std::size_t{cell} + 1, likely));
    return first_[cell];
  }
  void clear() noexcept;

private:
  // Nobody constructs or destroys them, and they are moved.
  static_assert(std::is_trivially_copyable_v<cache_place>);

  void grow(std::size_t least);
  void move_to(void* at, std::size_t count) noexcept;

  cache_place* first_ = nullptr;
  std::size_t count_ = 0;
};

} // namespace quarry::emu

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
  cache_places(cache_places&& from) noexcept : array_(std::exchange(from.array_, {})) {}
  cache_places& operator=(cache_places&& from) noexcept {
    std::swap(array_, from.array_);
    return *this;
  }
  ~cache_places() { clear(); }

  /// Null: neither it nor one behind it has been reached.
  [[nodiscard]] cache_place* find(std::uint32_t cell) const noexcept {
    return cell < array_.count ? array_.first + cell : nullptr;
  }
  /// One that is found.
  [[nodiscard]] cache_place& operator[](std::uint32_t cell) const noexcept {
    return array_.first[cell];
  }
  /// For the first time in an execution, whose number, not 0, is to be left there. `likely`: one of
  /// so many cells may be reached.
  cache_place& reach(std::uint32_t cell, std::size_t likely = 0) {
    if (cell >= array_.count)
      grow(std::max(std::size_t{cell} + 1, likely));
    cache_place& p = array_.first[cell];
    ++array_.reached;
    array_.kept += p.execution == 0 ? 1U : 0U;
    return p;
  }
  /// What was reached counts no more, and may be 0 again: what is kept of executions is a few times
  /// what one of them reaches, though each may be elsewhere.
  void end_execution() noexcept {
    std::size_t const reached = std::exchange(array_.reached, 0);
    if (array_.kept > few + 4 * reached) [[unlikely]]
      give_back();
  }
  void clear() noexcept;

private:
  // Nobody constructs or destroys them, and they are moved.
  static_assert(std::is_trivially_copyable_v<cache_place>);
  /// So many are in memory of the heap, which costs no calls of the system: 88 kB.
  static constexpr std::size_t few = 256;
  static_assert(few * sizeof(cache_place) <= 88'064);

  struct array {
    cache_place* first = nullptr;
    std::size_t count = 0;
    std::size_t reached = 0; ///< in this execution
    std::size_t kept = 0;    ///< in any, since memory was given back
  };

  void grow(std::size_t least);
  void move_to(void* at, std::size_t count) noexcept;
  void give_back() noexcept;

  array array_;
};

} // namespace quarry::emu

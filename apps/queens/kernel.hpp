// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "board.hpp"
#include "reference.hpp"

#include <quarry/emu/cilk.hpp>

#include <cstdint>

namespace quarry::queens {

/// The largest board that is divided: as many calls may be spawned at once, and 32 bits can count
/// its solutions.
constexpr std::uint32_t most_divided = 18;

/// Counts in how many ways queens can stand in the rows that are left: a call for each square of
/// the next row that is free, down to a sub-section of base_rows rows.
///
/// Source   thesis §4.5.1
struct call {
  using result = std::uint32_t;
  static constexpr std::uint32_t most_spawned = most_divided;

  board above;
  std::uint32_t rows; ///< that are left
  std::uint32_t row;  ///< a row's squares

  void operator()(auto& self) const {
    std::uint32_t free = above.free(row);
    if (rows <= base_rows || free == 0)
      return self.returns(static_cast<result>(completions(above, rows, row)));
    for (; free != 0; free &= free - 1)
      self.spawn(call{above.with(lowest(free)), rows - 1, row});
  }
  void after_sync(auto& self, emu::first_sync) const {
    result sum = 0;
    for (std::uint32_t i = 0; i < self.children(); ++i)
      sum += self[i];
    self.returns(sum);
  }

  /// Levels of the recursion.
  [[nodiscard]] static std::uint32_t depth(std::uint32_t size) noexcept {
    return size <= base_rows ? 1 : size - base_rows + 1;
  }
};

} // namespace quarry::queens

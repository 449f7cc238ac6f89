// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "board.hpp"

#include <cstdint>

namespace quarry::queens {

/// In how many ways queens can stand in the `rows` that are left: serially, by recursion.
[[nodiscard]] constexpr std::uint64_t completions(board const& b, std::uint32_t rows,
                                                  std::uint32_t row) noexcept {
  if (rows == 0)
    return 1;
  std::uint64_t count = 0;
  for (std::uint32_t free = b.free(row); free != 0; free &= free - 1)
    count += completions(b.with(lowest(free)), rows - 1, row);
  return count;
}

/// The number of solutions on a board of `size` x `size`.
///
/// Shape    size 1 … most_rows
[[nodiscard]] constexpr std::uint64_t reference(std::uint32_t size) noexcept {
  return completions({}, size, full_row(size));
}

/// Boards that a recursion down to the base case looks at, the empty one included: its tasks.
[[nodiscard]] constexpr std::uint64_t tasks(board const& b, std::uint32_t rows,
                                            std::uint32_t row) noexcept {
  std::uint64_t count = 1;
  if (rows > base_rows)
    for (std::uint32_t free = b.free(row); free != 0; free &= free - 1)
      count += tasks(b.with(lowest(free)), rows - 1, row);
  return count;
}

} // namespace quarry::queens

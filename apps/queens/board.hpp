// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace quarry::queens {

/// The fewest rows left that are still divided: the base case is a sub-section of the board with
/// this many rows (thesis §4.5.1).
constexpr std::uint32_t base_rows = 4;

/// The largest board whose solutions a 64-bit count can hold and whose rows fit in a word of 32.
constexpr std::uint32_t most_rows = 27;

/// What the queens of the rows above leave to the next row, a bit for each of its squares.
///
/// `Word` is std::uint32_t, or lanes of it.
template<class Word>
struct basic_board {
  Word columns{}; ///< taken in this column
  Word left{};    ///< on the diagonal that goes down to the left
  Word right{};   ///< on the other

  /// The squares of the row that no queen attacks; `row` has a bit for each square of a row.
  [[nodiscard]] constexpr Word free(std::uint32_t row) const {
    return ~(columns | left | right) & row;
  }
  /// The next row, with a queen on `square` of this one.
  [[nodiscard]] constexpr basic_board with(Word square) const {
    return {columns | square, (left | square) << 1, (right | square) >> 1};
  }
};
using board = basic_board<std::uint32_t>;

/// A row's squares.
[[nodiscard]] constexpr std::uint32_t full_row(std::uint32_t size) noexcept {
  return (std::uint32_t{1} << size) - 1;
}

/// The lowest of the squares.
[[nodiscard]] constexpr std::uint32_t lowest(std::uint32_t squares) noexcept {
  return squares & (~squares + 1);
}

} // namespace quarry::queens

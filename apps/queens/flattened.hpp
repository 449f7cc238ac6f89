// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "board.hpp"

#include <quarry/emu/agent.hpp>
#include <quarry/emu/buffer.hpp>
#include <quarry/emu/work_item.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace quarry::queens {

/// The boards with `rows` queens in the first rows: what the flattened program begins with.
inline void first_boards(board const& b, std::uint32_t rows, std::uint32_t row,
                         std::vector<board>& found) {
  if (rows == 0)
    return found.push_back(b);
  for (std::uint32_t free = b.free(row); free != 0; free &= free - 1)
    first_boards(b.with(lowest(free)), rows - 1, row, found);
}

/// Counts the completions of a board for each work-item: a recursion as one has to write it where
/// there is no stack, with what is left to try in an array.
struct flattened_kernel {
  void operator()(emu::any_plain_work_item auto& wi, emu::global<board const> boards,
                  std::uint32_t count, std::uint32_t rows, std::uint32_t row,
                  emu::global<std::uint64_t> solutions) const {
    std::uint32_t const i = wi.global_id();
    if (i >= count)
      return;
    std::array<board, most_rows> at;
    std::array<std::uint32_t, most_rows> free;
    at[0] = wi.load(boards + i);
    free[0] = at[0].free(row);
    std::uint64_t found = 0;
    for (std::uint32_t depth = 0;;) {
      if (free[depth] == 0) {
        if (depth-- == 0)
          break;
        continue;
      }
      std::uint32_t const square = lowest(free[depth]);
      free[depth] ^= square;
      if (depth + 1 == rows) {
        ++found;
        continue;
      }
      at[depth + 1] = at[depth].with(square);
      ++depth;
      free[depth] = at[depth].free(row);
    }
    wi.fetch_add(solutions, found, emu::order::relaxed, emu::scope::agent);
  }
};

/// The solutions on a board of `size` x `size` without channels: the host tries the first rows, and
/// the GPU the rest, a work-item a board.
///
/// Shape    size 2 … most_rows
/// Errors   std::runtime_error – the kernel faulted
template<class Targets>
std::uint64_t count_flattened(emu::basic_agent<Targets>& gpu, std::uint32_t size) {
  std::uint32_t const first_rows = size > 8 ? 4 : 1;
  std::vector<board> made;
  first_boards({}, first_rows, full_row(size), made);
  auto boards = gpu.template allocate<board>(made.size(), "boards");
  std::ranges::copy(made, boards.host().begin());
  auto solutions = gpu.template allocate<std::uint64_t>(1, "solutions");
  auto const count = static_cast<std::uint32_t>(made.size());
  gpu.run({.work_items = count, .work_items_per_group = 64}, flattened_kernel{},
          emu::global<board const>(boards.global()), count, size - first_rows, full_row(size),
          solutions.global())
      .or_throw();
  return solutions.host()[0];
}

} // namespace quarry::queens

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace quarry::jacobi {

/// A grid that was relaxed serially.
struct relaxation {
  std::uint32_t sweeps = 0;
  double change = 0;         ///< the largest, in the last sweep that was looked at
  std::vector<double> cells; ///< rows of row_cells(), with those around
};

/// All strips as one grid, serially.
[[nodiscard]] inline relaxation reference(grid_shape const& s) {
  std::size_t const width = s.row_cells();
  std::size_t const rows = std::size_t{s.strips()} * s.rows;
  relaxation r;
  r.cells.assign((rows + 2) * width, 0);
  std::fill_n(r.cells.begin(), width, 1.0);
  std::vector<double> next = r.cells;
  for (r.change = 2 * s.tolerance; r.sweeps < s.most_sweeps && r.change > s.tolerance;) {
    double worst = 0;
    for (std::size_t y = 1; y <= rows; ++y)
      for (std::size_t x = 1; x <= s.columns; ++x) {
        double const* const old = &r.cells[y * width + x];
        double& value = next[y * width + x];
        value = relaxed(*(old - width), old[width], old[-1], old[1]);
        worst = std::max(worst, std::abs(value - *old));
      }
    r.cells.swap(next);
    if (s.is_checked(++r.sweeps))
      r.change = worst;
  }
  return r;
}

} // namespace quarry::jacobi

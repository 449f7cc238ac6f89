// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel.hpp"

#include <cstdint>
#include <vector>

namespace quarry::allreduce {

/// The sums of everybody's elements, serially: each in the order in which its segment goes round,
/// so that they are equal to the last bit. `r` is for its shape.
[[nodiscard]] inline std::vector<float> reference(rings const& r,
                                                  std::vector<std::vector<float>> const& parts) {
  std::vector<float> sums(r.element_count);
  for (std::uint32_t ring = 0; ring < r.ring_count; ++ring)
    for (std::uint32_t begin = 0; begin < r.node_count; ++begin) {
      range const s = r.segment(ring, begin);
      for (std::uint32_t i = s.first; i < s.first + s.count; ++i) {
        sums[i] = parts[begin][i];
        for (std::uint32_t k = 1; k < r.node_count; ++k)
          sums[i] = parts[(begin + k) % r.node_count][i] + sums[i];
      }
    }
  return sums;
}

} // namespace quarry::allreduce

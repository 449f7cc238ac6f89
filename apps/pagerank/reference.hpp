// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rank.hpp"

#include <quarry/graph/csr.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace quarry::pagerank {

/// PageRank by `iterations` rounds of pushing, serially, in the kernels' fixed-point arithmetic.
[[nodiscard]] inline std::vector<fixed> reference(graph::csr_graph const& g,
                                                  std::uint32_t iterations) {
  std::uint64_t const n = g.vertex_count;
  std::vector<fixed> rank(n, one / n);
  std::vector<fixed> next(n);
  for (std::uint32_t round = 0; round < iterations; ++round) {
    fixed dangling = 0;
    std::fill(next.begin(), next.end(), 0);
    for (std::uint64_t v = 0; v < n; ++v) {
      std::uint64_t const degree = g.offsets[v + 1] - g.offsets[v];
      if (degree == 0)
        dangling += rank[v];
      for (std::uint64_t e = g.offsets[v]; e < g.offsets[v + 1]; ++e)
        next[g.targets[e]] += damped(rank[v]) / degree;
    }
    for (std::uint64_t v = 0; v < n; ++v)
      rank[v] = next[v] + base_rank(dangling, n);
  }
  return rank;
}

/// The same in floating point, for how far fixed point is off.
[[nodiscard]] inline std::vector<double> floating_reference(graph::csr_graph const& g,
                                                            std::uint32_t iterations) {
  std::uint64_t const n = g.vertex_count;
  std::vector<double> rank(n, 1.0 / static_cast<double>(n));
  std::vector<double> next(n);
  for (std::uint32_t round = 0; round < iterations; ++round) {
    double dangling = 0;
    std::fill(next.begin(), next.end(), 0.0);
    for (std::uint64_t v = 0; v < n; ++v) {
      std::uint64_t const degree = g.offsets[v + 1] - g.offsets[v];
      if (degree == 0)
        dangling += rank[v];
      for (std::uint64_t e = g.offsets[v]; e < g.offsets[v + 1]; ++e)
        next[g.targets[e]] += 0.85 * rank[v] / static_cast<double>(degree);
    }
    for (std::uint64_t v = 0; v < n; ++v)
      rank[v] = next[v] + (0.15 + 0.85 * dangling) / static_cast<double>(n);
  }
  return rank;
}

} // namespace quarry::pagerank

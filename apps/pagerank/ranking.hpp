// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rank.hpp"

#include <quarry/graph/csr.hpp>
#include <quarry/net/gravel.hpp>
#include <quarry/result.hpp>

#include <command_line/run_options.hpp>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace quarry::pagerank {

enum class kernel_kind { wave, item };

/// What the nodes are to do. All of it is the same on every node, and outlives the run.
struct ranking_request {
  graph::csr_graph const& graph;
  std::uint32_t iterations = 20;
  std::uint32_t top = 10; ///< so many of the best are wanted
  kernel_kind kernel = kernel_kind::wave;
  std::span<fixed const> right; ///< the ranks to compare with
};

/// A vertex and the rank that its node has computed for it.
struct ranked_vertex {
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  fixed rank = 0;
  std::uint32_t vertex = none;

  friend bool operator==(ranked_vertex const&, ranked_vertex const&) = default;
};

/// What came of it.
struct ranking {
  double seconds = 0;      ///< of the slowest node
  std::uint64_t wrong = 0; ///< ranks that are not `right`
  net::gravel::statistics counts;
  /// The best by the nodes' own ranks, highest first and of equal ones the lower vertex; only where
  /// node 0 is.
  std::vector<ranked_vertex> best;
};

/// PageRank on all nodes of the job, through Gravel.
///
/// Shape    the graph has a vertex
/// Errors   as run_nodes()
[[nodiscard]] result<ranking> rank_vertices(command::run_options const& options,
                                            ranking_request const& request);

} // namespace quarry::pagerank

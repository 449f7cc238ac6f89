// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/graph/csr.hpp>

#include <cstdint>
#include <string>

namespace quarry::graph {

/// A graph in a few numbers.
struct graph_summary {
  std::uint32_t vertex_count = 0;
  std::uint64_t edge_count = 0;
  std::uint64_t max_in_degree = 0;
  std::uint64_t max_out_degree = 0;
  std::uint32_t max_in_degree_vertex = 0;  ///< the lowest one with that degree; 0 without vertices
  std::uint32_t max_out_degree_vertex = 0; ///< likewise
  std::uint32_t isolated_count = 0;        ///< vertices without any edge
  std::uint32_t sink_count = 0;            ///< vertices without out-edges, isolated ones included
  std::uint64_t self_loop_count = 0;

  friend bool operator==(graph_summary const&, graph_summary const&) = default;
};

/// `graph` is valid.
[[nodiscard]] graph_summary summarize(csr_graph const& graph);

/// One line per number, each ended with a newline.
[[nodiscard]] std::string to_string(graph_summary const& summary);

} // namespace quarry::graph

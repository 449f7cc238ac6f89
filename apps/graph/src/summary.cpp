// SPDX-License-Identifier: Apache-2.0
#include <quarry/graph/summary.hpp>

#include <fmt/format.h>

namespace quarry::graph {

graph_summary summarize(csr_graph const& graph) {
  graph_summary summary{.vertex_count = graph.vertex_count, .edge_count = graph.edge_count()};
  auto const incoming = in_degrees(graph);
  for (std::uint32_t v = 0; v < graph.vertex_count; ++v) {
    auto const outgoing = graph.out_degree(v);
    if (outgoing > summary.max_out_degree) {
      summary.max_out_degree = outgoing;
      summary.max_out_degree_vertex = v;
    }
    if (incoming[v] > summary.max_in_degree) {
      summary.max_in_degree = incoming[v];
      summary.max_in_degree_vertex = v;
    }
    summary.sink_count += outgoing == 0;
    summary.isolated_count += outgoing == 0 && incoming[v] == 0;
    for (std::uint32_t const target : graph.out_edges(v))
      summary.self_loop_count += target == v;
  }
  return summary;
}

std::string to_string(graph_summary const& summary) {
  // Numbered as in a Matrix Market file, and as the lines of names beside it.
  auto const largest = [](std::uint64_t degree, std::uint32_t vertex) {
    return degree == 0 ? "0" : fmt::format("{} (vertex {})", degree, std::uint64_t{vertex} + 1);
  };
  return fmt::format("vertices            {}\n"
                     "edges               {}\n"
                     "largest in-degree   {}\n"
                     "largest out-degree  {}\n"
                     "isolated vertices   {}\n"
                     "without out-edges   {}\n"
                     "self loops          {}\n",
                     summary.vertex_count, summary.edge_count,
                     largest(summary.max_in_degree, summary.max_in_degree_vertex),
                     largest(summary.max_out_degree, summary.max_out_degree_vertex),
                     summary.isolated_count, summary.sink_count, summary.self_loop_count);
}

} // namespace quarry::graph

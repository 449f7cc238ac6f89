// SPDX-License-Identifier: Apache-2.0
#include <quarry/graph/partition.hpp>

#include <fmt/format.h>

#include <stdexcept>

namespace quarry::graph {
namespace {

std::uint32_t block_size_of(std::uint32_t vertex_count, std::uint32_t node_count) {
  if (node_count == 0)
    throw std::invalid_argument("block_partition: node_count is 0, it must be at least 1");
  if (vertex_count == 0)
    return 1;
  return (vertex_count - 1) / node_count + 1; // vertex_count + node_count - 1 may pass 2^32
}

} // namespace

block_partition::block_partition(std::uint32_t vertex_count, std::uint32_t node_count)
    : vertex_count_(vertex_count), node_count_(node_count),
      block_size_(block_size_of(vertex_count, node_count)) {}

result<graph_slice> slice(csr_graph const& graph, block_partition const& partition,
                          std::uint32_t node) {
  auto const refused = std::make_error_code(std::errc::invalid_argument);
  if (partition.vertex_count() != graph.vertex_count)
    return error{refused, fmt::format("a partition of {} vertices cannot slice a graph of {}",
                                      partition.vertex_count(), graph.vertex_count)};
  if (node >= partition.node_count())
    return error{refused, fmt::format("node {} of a partition with the nodes 0 to {}", node,
                                      partition.node_count() - 1)};
  graph_slice part{.first_vertex = partition.first(node),
                   .row_count = partition.size(node),
                   .offsets = {},
                   .targets = {}};
  auto const first = graph.offsets[part.first_vertex];
  auto const last = graph.offsets[partition.last(node)];
  part.offsets.resize(std::size_t{part.row_count} + 1);
  for (std::size_t row = 0; row <= part.row_count; ++row)
    part.offsets[row] = graph.offsets[part.first_vertex + row] - first;
  part.targets.assign(graph.targets.begin() + static_cast<std::ptrdiff_t>(first),
                      graph.targets.begin() + static_cast<std::ptrdiff_t>(last));
  return part;
}

} // namespace quarry::graph

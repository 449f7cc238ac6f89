// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/graph/csr.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace quarry::graph {

/// The vertices of a graph dealt out to nodes in equal consecutive blocks (one-dimensional).
///
/// Node k owns the vertices [first(k), last(k)). Every block has block_size() vertices but the last
/// one, which has what is left; with few vertices the highest nodes own nothing.
///
/// Shape    node_count ≥ 1 (0 is refused by the constructor with std::invalid_argument)
class block_partition {
public:
  block_partition(std::uint32_t vertex_count, std::uint32_t node_count);

  [[nodiscard]] std::uint32_t vertex_count() const { return vertex_count_; }
  [[nodiscard]] std::uint32_t node_count() const { return node_count_; }
  /// ceil(vertex_count / node_count), and 1 for a graph without vertices.
  [[nodiscard]] std::uint32_t block_size() const { return block_size_; }

  /// The node that owns `vertex` < vertex_count().
  [[nodiscard]] std::uint32_t owner(std::uint32_t vertex) const { return vertex / block_size_; }
  /// The position of `vertex` among its owner's vertices.
  [[nodiscard]] std::uint32_t local_index(std::uint32_t vertex) const {
    return vertex % block_size_;
  }
  [[nodiscard]] std::uint32_t first(std::uint32_t node) const { return bound(node); }
  [[nodiscard]] std::uint32_t last(std::uint32_t node) const {
    return bound(std::uint64_t{node} + 1);
  }
  [[nodiscard]] std::uint32_t size(std::uint32_t node) const { return last(node) - first(node); }

private:
  /// In 64 bits: node · block_size passes 2^32 for the empty nodes at the end.
  [[nodiscard]] std::uint32_t bound(std::uint64_t node) const {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(node * block_size_, vertex_count_));
  }

  std::uint32_t vertex_count_;
  std::uint32_t node_count_;
  std::uint32_t block_size_;
};

/// What one node holds of a graph: the rows of its own vertices. Targets stay global.
struct graph_slice {
  std::uint32_t first_vertex = 0; ///< global number of row 0
  std::uint32_t row_count = 0;
  std::vector<std::uint64_t> offsets = {0}; ///< row_count + 1, from 0
  std::vector<std::uint32_t> targets;       ///< global vertices

  [[nodiscard]] std::span<std::uint32_t const> out_edges(std::uint32_t row) const {
    return std::span{targets}.subspan(offsets[row], offsets[std::size_t{row} + 1] - offsets[row]);
  }

  friend bool operator==(graph_slice const&, graph_slice const&) = default;
};

/// Copies the rows of `node` out of a valid graph.
///
/// Errors   invalid_argument – the partition is of another vertex count, or has no such node
[[nodiscard]] result<graph_slice> slice(csr_graph const& graph, block_partition const& partition,
                                        std::uint32_t node);

} // namespace quarry::graph

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace quarry::graph {

/// A directed edge, from `source` to `target`.
struct edge {
  std::uint32_t source = 0;
  std::uint32_t target = 0;

  friend bool operator==(edge const&, edge const&) = default;
};

/// A vertex index is 32 bits wide and the vertex count has to be one too.
inline constexpr std::uint64_t max_vertex_count = std::numeric_limits<std::uint32_t>::max();

/// Compressed sparse rows: the out-edges of vertex v are targets[offsets[v]] …
/// targets[offsets[v+1]-1].
///
/// Every graph that this library makes passes validate() and has each row's targets in ascending
/// order, so that two graphs with the same edges compare equal, whatever the order they came in.
///
/// Shape    offsets: vertex_count + 1 entries, the last one is the edge count
struct csr_graph {
  std::uint32_t vertex_count = 0;
  std::vector<std::uint64_t> offsets = {0};
  std::vector<std::uint32_t> targets;

  [[nodiscard]] std::uint64_t edge_count() const { return targets.size(); }
  [[nodiscard]] std::uint64_t out_degree(std::uint32_t vertex) const {
    return offsets[std::size_t{vertex} + 1] - offsets[vertex];
  }
  [[nodiscard]] std::span<std::uint32_t const> out_edges(std::uint32_t vertex) const {
    return std::span{targets}.subspan(offsets[vertex], out_degree(vertex));
  }

  friend bool operator==(csr_graph const&, csr_graph const&) = default;
};

/// What happens to an edge that is listed more than once.
enum class duplicates {
  keep, ///< a multigraph: each listing is an edge of its own
  merge ///< one edge
};

/// Sorts `edges` by source, then target (counting sort over the sources). Self loops are kept.
///
/// Errors   invalid_argument – an edge names a vertex ≥ vertex_count
///          not_enough_memory – the rows do not fit
[[nodiscard]] result<csr_graph> make_csr(std::uint32_t vertex_count, std::span<edge const> edges,
                                         duplicates repeated = duplicates::keep);

/// The in-degree of every vertex. `graph` is valid.
[[nodiscard]] std::vector<std::uint64_t> in_degrees(csr_graph const& graph);

/// The same edges, turned round. `graph` is valid.
[[nodiscard]] csr_graph transpose(csr_graph const& graph);

/// Checks the sizes, that the offsets ascend from 0 to the edge count, and that each target exists.
///
/// Errors   invalid_argument – the sentence names the first offset or target that is wrong
[[nodiscard]] result<void> validate(csr_graph const& graph);

/// FNV-1a, word by word, over vertex count, offsets and targets: the same on every platform.
[[nodiscard]] std::uint64_t checksum(csr_graph const& graph);

} // namespace quarry::graph

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/graph/csr.hpp>

#include <cstdint>

namespace quarry::graph {

// Generators: the same options make the same graph with every compiler and on every machine.

/// A recursive matrix graph (R-MAT): few vertices with very many edges, as in social networks.
struct rmat_options {
  std::uint32_t scale = 16;       ///< 2^scale vertices; 0 … 31
  std::uint64_t edge_factor = 16; ///< edges per vertex
  std::uint64_t seed = 1;
  double a = 0.57; ///< probability of the quarter: low source, low target
  double b = 0.19; ///< low source, high target
  double c = 0.19; ///< high source, low target; the rest, 1 - a - b - c, is high, high
  duplicates repeated = duplicates::keep;
  std::uint64_t memory_limit_bytes = 0; ///< 0: what the machine has, and ulimit allows
};

/// Draws edge_factor · 2^scale directed edges, self loops included, and then gives the vertices
/// their numbers by a random permutation, so that the number of a vertex says nothing of its
/// degree.
///
/// Errors   invalid_argument – scale > 31, a probability outside 0 … 1, or a + b + c > 1
///          value_too_large – over the memory limit
///          not_enough_memory – the allocator refused
/// Source   Chakrabarti, Zhan, Faloutsos: R-MAT (SDM 2004); defaults and permutation of Graph500
[[nodiscard]] result<csr_graph> rmat(rmat_options const& options);

/// A honeycomb of hexagons with round holes in it, like a froth.
struct hexagonal_mesh_options {
  std::uint32_t rows = 512;    ///< zigzag lines of vertices; at least 2
  std::uint32_t columns = 512; ///< vertices of a line; at least 3
  double hole_fraction = 0.0;  ///< of the vertices, lie in holes; 0 … 0.9
  std::uint64_t seed = 1;
  std::uint64_t memory_limit_bytes = 0; ///< 0: what the machine has, and ulimit allows
};

/// A planar mesh in which each vertex has three neighbours, but two on a rim. Each edge is stored
/// in both directions; there are no self loops and no duplicates.
///
/// Holes are discs of random place and size, up to an eighth of the mesh across, laid one by one
/// and over one another until hole_fraction of the vertices is gone; what then hangs on by a single
/// edge is cut off too. The rest, which may be in several pieces, is numbered line by line.
///
/// Errors   invalid_argument – an option is outside its range, the mesh is too small for one hole,
/// or
///          nothing is left of it
///          value_too_large – more than max_vertex_count vertices before the holes, or over the
///          memory limit
///          not_enough_memory – the allocator refused
[[nodiscard]] result<csr_graph> hexagonal_mesh(hexagonal_mesh_options const& options);

} // namespace quarry::graph

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/graph/csr.hpp>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

namespace quarry::graph {

/// How a file is read.
struct matrix_market_options {
  /// An entry listed more than once.
  duplicates repeated = duplicates::keep;
  /// Most that the edge list and the graph may take together; 0: the physical memory of the
  /// machine.
  std::uint64_t memory_limit_bytes = 0;
};

/// Reads the adjacency matrix of a graph: the entry (i, j) is the edge from vertex i-1 to vertex
/// j-1.
///
/// Takes what the SuiteSparse collection has of square coordinate matrices: fields `pattern`,
/// `real` and `integer` (values are checked and dropped; an entry is an edge, even one whose value
/// is 0), symmetries `general` and `symmetric` (an entry of either triangle stands for both; the
/// diagonal is not doubled). Self loops stay. Blank lines and lines that begin with % may stand
/// anywhere after the banner; lines may end with CR LF; the file may be compressed with gzip.
///
/// Memory grows with the entries read, never with the number that the size line promises; a graph
/// beyond memory_limit_bytes is refused when that shows.
///
/// Errors   that of the system – the file cannot be opened or read
///          bad_message – malformed, truncated or corrupt; the sentence has file, line, what was
///          read and what is allowed
///          not_supported – array, complex, vector, skew-symmetric, hermitian, not square
///          value_too_large – more than max_vertex_count vertices, or over the memory limit
///          not_enough_memory – the allocator refused
/// Source   Boisvert, Pozo, Remington: The Matrix Market Exchange Formats (NISTIR 5935), 1996
[[nodiscard]] result<csr_graph> read_matrix_market(std::filesystem::path const& path,
                                                   matrix_market_options const& options = {});

/// Writes `matrix coordinate pattern general`, row by row; each line of `comments` after a %.
///
/// Does not close `out`, but flushes it. `graph` is valid.
///
/// Errors   that of the system – the sentence begins with `name`
[[nodiscard]] result<void> write_matrix_market(std::FILE* out, std::string const& name,
                                               csr_graph const& graph,
                                               std::string const& comments = {});

/// The same into a new file, or over an old one; compressed when the name ends in .gz. A file that
/// could not be written to its end is removed.
[[nodiscard]] result<void> write_matrix_market(std::filesystem::path const& path,
                                               csr_graph const& graph,
                                               std::string const& comments = {});

} // namespace quarry::graph

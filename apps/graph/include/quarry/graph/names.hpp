// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/graph/csr.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace quarry::graph {

/// A graph whose vertex v is called names[v].
struct named_graph {
  csr_graph graph;
  std::vector<std::string> names; ///< as many as vertices
};

/// Where the names of the graph in `graph_file` are kept: debian.names beside debian.mtx or
/// debian.mtx.gz; a file that ends in neither gets .names appended.
[[nodiscard]] std::filesystem::path names_beside(std::filesystem::path const& graph_file);

/// Reads one name from each line, LF or CR LF, plain or gzip.
///
/// Errors   that of the system – the file cannot be opened or read
///          bad_message – a line is empty; the sentence has file and line
[[nodiscard]] result<std::vector<std::string>> read_names(std::filesystem::path const& path);

/// Writes one name to a line, into a new file or over an old one; one that could not be written to
/// its end is removed.
///
/// Errors   invalid_argument – a name is empty, or has a line end in it; nothing is written
///          that of the system – the file cannot be written
[[nodiscard]] result<void> write_names(std::filesystem::path const& path,
                                       std::span<std::string const> names);

} // namespace quarry::graph

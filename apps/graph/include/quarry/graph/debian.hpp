// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/graph/names.hpp>

#include <cstdint>
#include <filesystem>
#include <istream>
#include <string>
#include <string_view>

namespace quarry::graph {

/// What became of the dependencies of a package list. A clause is what stands between two commas.
struct debian_counts {
  std::uint64_t stanza_count = 0;
  std::uint64_t repeated_package_count = 0; ///< stanzas left out: the package had one before
  std::uint64_t clause_count = 0;
  std::uint64_t provided_count = 0; ///< resolved through Provides
  std::uint64_t missing_count = 0;  ///< no alternative exists: no edge
  std::uint64_t own_count = 0;      ///< satisfied by the package itself: no edge
  std::uint64_t merged_count = 0;   ///< a further clause with the same source and target

  friend bool operator==(debian_counts const&, debian_counts const&) = default;
};

/// The packages of a distribution and who depends on whom.
struct debian_graph : named_graph {
  debian_counts counts;
};

/// Makes the dependency graph of the packages in `packages`, the text of `apt-cache dumpavail` or
/// of a Packages file.
///
/// Vertices are the packages in the order in which they appear; of several stanzas for one name
/// (versions, architectures) the first counts. The edge p -> q says that p depends on q, by Depends
/// or Pre-Depends; it exists once, however often p says so.
///
/// Of the alternatives `a | b` the first that exists is taken. A name exists if a package is called
/// so, or, failing that, if a package provides it: then the first provider in the list is taken.
/// Versions, architecture qualifiers (`:any`), restrictions in [] and profiles in <> are not looked
/// at. `name` stands for the text in errors.
///
/// Errors   bad_message – a line is no field, a stanza has no Package, a package name has
/// characters
///          that are not allowed, or there is no stanza at all; with name and line
///          io_error – the stream fails
///          value_too_large – more than max_vertex_count packages
/// Source   Debian Policy Manual 4.6 §5.1 (syntax), §7.1 (relations), §7.5 (virtual packages)
[[nodiscard]] result<debian_graph> read_debian_packages(std::istream& packages,
                                                        std::string const& name = "packages");

/// The same from a file, plain or gzip.
///
/// Errors   that of the system as well – the file cannot be opened or read
[[nodiscard]] result<debian_graph> read_debian_packages(std::filesystem::path const& path);

/// The same from the packages that this machine knows: runs `<program> dumpavail`.
///
/// Blocks until the program has ended; its standard error is ours.
///
/// Errors   that of the system – the program is missing or cannot be started
///          io_error – it ended with a status other than 0, or by a signal
///          no_message – it printed nothing
[[nodiscard]] result<debian_graph> read_apt_packages(std::string const& program = "apt-cache");

} // namespace quarry::graph

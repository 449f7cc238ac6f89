// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/graph/debian.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace quarry::graph {

/// Takes a package list line by line and makes the graph when the last one has been seen.
class debian_parser {
public:
  /// `name` stands for the text in errors.
  explicit debian_parser(std::string name) : name_(std::move(name)) {}

  /// The next line, without its end.
  [[nodiscard]] result<void> line(std::string_view text);

  /// Ends the list; the parser is of no use after it.
  [[nodiscard]] result<debian_graph> finish();

  [[nodiscard]] bool is_empty() const { return line_number_ == 0; }

private:
  /// What is kept of a stanza.
  struct package {
    std::string name;
    std::string depends; ///< Pre-Depends and Depends, joined with a comma
    std::string provides;
  };
  struct name_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  using index = std::unordered_map<std::string, std::uint32_t, name_hash, std::equal_to<>>;

  [[nodiscard]] result<void> field(std::string_view text);
  [[nodiscard]] result<void> package_field(std::string_view value);
  [[nodiscard]] result<void> end_stanza();
  void list_providers();
  void add_edges(std::uint32_t source);
  void add_clause(std::uint32_t source, std::string_view clause);

  std::string name_;
  std::uint64_t line_number_ = 0;
  std::uint64_t stanza_line_ = 0; ///< where the current stanza began; 0 between stanzas
  package current_;
  std::string* continued_ = nullptr; ///< the part of current_ that a continuation line goes on with
  std::vector<package> packages_;
  index real_;     ///< package name → vertex
  index provider_; ///< virtual name → the first vertex that provides it
  std::vector<edge> edges_;
  debian_counts counts_;
};

} // namespace quarry::graph

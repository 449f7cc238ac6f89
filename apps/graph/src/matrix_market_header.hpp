// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "line_source.hpp"

#include <cstdint>
#include <string_view>

namespace quarry::graph {

enum class matrix_field { pattern, real, integer };
[[nodiscard]] char const* to_string(matrix_field field);

/// What the banner and the size line say.
struct matrix_market_header {
  matrix_field field = matrix_field::pattern;
  bool symmetric = false;
  std::uint32_t vertex_count = 0;
  std::uint64_t entry_count = 0; ///< promised, not seen
};

/// Walks over the words of a line, which blanks and tabulators separate.
class word_cursor {
public:
  explicit word_cursor(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {
    skip_blanks();
  }

  /// The next word; empty at the end of the line.
  std::string_view next() {
    char const* const first = at_;
    while (at_ != end_ && !is_blank(*at_))
      ++at_;
    std::string_view const word(first, static_cast<std::size_t>(at_ - first));
    skip_blanks();
    return word;
  }
  [[nodiscard]] bool at_end() const { return at_ == end_; }
  [[nodiscard]] std::string_view rest() const {
    return {at_, static_cast<std::size_t>(end_ - at_)};
  }

private:
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }
  void skip_blanks() {
    while (at_ != end_ && is_blank(*at_))
      ++at_;
  }

  char const* at_;
  char const* end_;
};

[[nodiscard]] inline bool is_blank_or_comment(std::string_view line) {
  word_cursor const words(line);
  return words.at_end() || words.rest().front() == '%';
}

/// The bytes of a graph's vertices while it is made, or summed up: for each its row's offset, and a
/// number beside it.
[[nodiscard]] constexpr std::uint64_t vertex_bytes(std::uint64_t vertex_count) {
  return (vertex_count + 1) * 2 * sizeof(std::uint64_t);
}

/// Reads up to the size line, that included; refuses vertices of more than `limit` bytes.
[[nodiscard]] result<matrix_market_header> read_matrix_market_header(line_source& lines,
                                                                     std::uint64_t limit);

} // namespace quarry::graph

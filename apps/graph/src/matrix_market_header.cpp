// SPDX-License-Identifier: Apache-2.0
#include "matrix_market_header.hpp"

#include "text.hpp"

#include <quarry/graph/csr.hpp>
#include <quarry/in_quotes.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace quarry::graph {
namespace {

/// The words after %%MatrixMarket may be written in capitals too.
std::string lower(std::string_view word) {
  std::string out(word);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

error refused(line_source const& lines, std::string_view what) {
  return make_error(std::errc::not_supported,
                    fmt::format("{}:{}: {}", lines.name(), lines.line_number(), what));
}

/// One word of the banner: `supported` ones pass, ones that the format knows are refused by name,
/// anything else is malformed.
result<std::string> banner_word(line_source const& lines, std::string_view read,
                                std::string_view what, std::string_view supported,
                                std::string_view known) {
  auto const lists = [](std::string_view list, std::string_view word) {
    for (word_cursor words(list); !words.at_end();)
      if (words.next() == word)
        return true;
    return false;
  };
  std::string word = lower(read);
  if (!word.empty() && lists(supported, word))
    return word;
  auto const allowed = fmt::format("allowed is one of: {}", supported);
  if (!word.empty() && lists(known, word))
    return refused(lines, fmt::format("{} '{}' is not supported, {}", what, word, allowed));
  return malformed(lines.name(), lines.line_number(),
                   fmt::format("read {} {} in the banner, {}", what, in_quotes(read), allowed));
}

result<matrix_market_header> read_banner(line_source& lines) {
  std::string_view line;
  if (!lines.next(line))
    return lines.failure() ? *lines.failure()
                           : malformed(lines.name(), 1,
                                       "the file is empty; it must begin with "
                                       "%%MatrixMarket");
  word_cursor words(line);
  if (auto const first = words.next(); first != "%%MatrixMarket")
    return malformed(
        lines.name(), 1,
        line.find("ustar") != line.npos
            ? "this is a tar archive; unpack it and read the .mtx file in it"
            : fmt::format("read {}, the file must begin with %%MatrixMarket", in_quotes(first)));
  if (auto word = banner_word(lines, words.next(), "object", "matrix", "vector"); !word)
    return word.error();
  if (auto word = banner_word(lines, words.next(), "format", "coordinate", "array"); !word)
    return word.error();
  auto const field =
      banner_word(lines, words.next(), "field", "pattern real integer", "complex double");
  if (!field)
    return field.error();
  auto const symmetry =
      banner_word(lines, words.next(), "symmetry", "general symmetric", "skew-symmetric hermitian");
  if (!symmetry)
    return symmetry.error();
  if (!words.at_end())
    return malformed(lines.name(), 1,
                     fmt::format("read {} after the banner's five words", in_quotes(words.rest())));
  return matrix_market_header{.field = *field == "pattern" ? matrix_field::pattern
                                       : *field == "real"  ? matrix_field::real
                                                           : matrix_field::integer,
                              .symmetric = *symmetry == "symmetric"};
}

/// Three numbers: rows, columns, entries.
result<std::array<std::uint64_t, 3>> read_size_line(line_source& lines) {
  std::string_view line;
  do {
    if (!lines.next(line))
      return lines.failure() ? *lines.failure()
                             : malformed(lines.name(), lines.line_number(),
                                         "the file ends before the size line");
  } while (is_blank_or_comment(line));
  std::array<std::uint64_t, 3> sizes{};
  word_cursor words(line);
  for (auto& size : sizes) {
    auto const word = words.next();
    char const* const last = word.data() + word.size();
    auto const [end, code] = std::from_chars(word.data(), last, size);
    if (code == std::errc::result_out_of_range)
      return malformed(
          lines.name(), lines.line_number(),
          fmt::format("read {} in the size line, a number of more than 64 bits", in_quotes(word)));
    if (code != std::errc{} || end != last)
      return malformed(lines.name(), lines.line_number(),
                       fmt::format("read {} in the size line {}, which must be three whole "
                                   "numbers: rows, columns, entries",
                                   in_quotes(word), in_quotes(line)));
  }
  if (!words.at_end())
    return malformed(
        lines.name(), lines.line_number(),
        fmt::format("read {} after the three numbers of the size line", in_quotes(words.rest())));
  return sizes;
}

} // namespace

char const* to_string(matrix_field field) {
  switch (field) {
  case matrix_field::pattern:
    return "pattern";
  case matrix_field::real:
    return "real";
  case matrix_field::integer:
    return "integer";
  }
  return "unknown";
}

result<matrix_market_header> read_matrix_market_header(line_source& lines, std::uint64_t limit) {
  auto header = read_banner(lines);
  if (!header)
    return header;
  auto const sizes = read_size_line(lines);
  if (!sizes)
    return sizes.error();
  auto const [rows, columns, entries] = *sizes;
  if (rows != columns)
    return refused(lines, fmt::format("a matrix of {} x {} is no adjacency matrix; rows and "
                                      "columns must be equal in number",
                                      rows, columns));
  auto const too_large = [&lines](std::string_view what) {
    return make_error(std::errc::value_too_large,
                      fmt::format("{}:{}: {}", lines.name(), lines.line_number(), what));
  };
  if (rows > max_vertex_count)
    return too_large(fmt::format("{} vertices, at most {} are allowed", rows, max_vertex_count));
  if (vertex_bytes(rows) > limit)
    return too_large(
        fmt::format("{} vertices need {} bytes, the limit is {}", rows, vertex_bytes(rows), limit));
  header->vertex_count = static_cast<std::uint32_t>(rows);
  header->entry_count = entries;
  return header;
}

} // namespace quarry::graph

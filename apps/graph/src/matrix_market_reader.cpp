// SPDX-License-Identifier: Apache-2.0
#include "line_source.hpp"
#include "matrix_market_header.hpp"
#include "text.hpp"

#include <quarry/graph/matrix_market.hpp>
#include <quarry/in_quotes.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <new>

namespace quarry::graph {
namespace {

/// The entries of a file whose header has been read.
class entry_reader {
public:
  entry_reader(line_source& lines, matrix_market_header const& header, std::uint64_t limit)
      : lines_(lines), header_(header), limit_(limit) {}

  /// Reads up to the end of the file.
  [[nodiscard]] result<std::vector<edge>> read();

private:
  // Each step returns false once problem_ is set, so that the fast path carries no result object.
  bool entry(std::string_view line);
  bool index(word_cursor& words, char const* what, std::uint32_t& index);
  bool value(word_cursor& words);
  bool check_memory();
  bool fail(error problem);
  bool fail_here(std::string_view what);

  line_source& lines_;
  matrix_market_header const& header_;
  std::uint64_t limit_;
  std::uint64_t entry_count_ = 0;
  std::vector<edge> edges_;
  std::optional<error> problem_;
};

result<std::vector<edge>> entry_reader::read() {
  std::uint64_t const expected = header_.entry_count * (header_.symmetric ? 2 : 1);
  // The size line may promise anything: a file earns more memory by having the entries.
  edges_.reserve(std::min<std::uint64_t>(expected, std::uint64_t{1} << 20));
  std::string_view line;
  while (lines_.next(line))
    if (!is_blank_or_comment(line) && !entry(line))
      return *problem_;
  if (lines_.failure())
    return *lines_.failure();
  if (entry_count_ < header_.entry_count)
    return malformed(lines_.name(), lines_.line_number(),
                     fmt::format("the file ends after {} entries, the size line promises {}",
                                 entry_count_, header_.entry_count));
  return std::move(edges_);
}

bool entry_reader::entry(std::string_view line) {
  if (entry_count_ == header_.entry_count)
    return fail_here(fmt::format("read {} after the last of the {} entries that the size line "
                                 "promises",
                                 in_quotes(line), header_.entry_count));
  word_cursor words(line);
  edge here;
  if (!index(words, "row", here.source) || !index(words, "column", here.target))
    return false;
  if (header_.field != matrix_field::pattern && !value(words))
    return false;
  if (!words.at_end())
    return fail_here(fmt::format("read {} after the entry; a {} entry has {}",
                                 in_quotes(words.rest()), to_string(header_.field),
                                 header_.field == matrix_field::pattern
                                     ? "a row and a column"
                                     : "a row, a column and a value"));
  ++entry_count_;
  edges_.push_back(here);
  if (header_.symmetric && here.source != here.target)
    edges_.push_back({here.target, here.source});
  return (entry_count_ & 0xffff) != 0 || check_memory();
}

bool entry_reader::index(word_cursor& words, char const* what, std::uint32_t& index) {
  std::string_view const word = words.next();
  std::uint32_t number = 0;
  auto const [end, code] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (code == std::errc{} && end == word.data() + word.size() && number != 0 &&
      number <= header_.vertex_count) [[likely]] {
    index = number - 1;
    return true;
  }
  return fail_here(word.empty() ? fmt::format("the {} is missing, allowed is 1 to {}", what,
                                              header_.vertex_count)
                                : fmt::format("read {} {}, allowed is 1 to {}", what,
                                              in_quotes(word), header_.vertex_count));
}

/// Values do not matter to the graph, but a file with a wrong one is damaged.
bool entry_reader::value(word_cursor& words) {
  std::string_view const word = words.next();
  std::string_view const digits = word.starts_with('+') ? word.substr(1) : word;
  char const* const last = digits.data() + digits.size();
  bool whole = false;
  auto code = std::errc{};
  if (header_.field == matrix_field::integer) {
    std::int64_t number = 0;
    auto const read = std::from_chars(digits.data(), last, number);
    code = read.ec;
    whole = read.ptr == last;
  } else {
    double number = 0;
    auto const read = std::from_chars(digits.data(), last, number);
    code = read.ec;
    // from_chars reports an underflow like an overflow; only the latter is no number of this type.
    if (code == std::errc::result_out_of_range &&
        std::isfinite(std::strtod(std::string(digits).c_str(), nullptr)))
      code = {};
    whole = read.ptr == last && std::isfinite(number);
  }
  bool const one_sign = digits.size() == word.size() || !digits.starts_with('-');
  if (code == std::errc{} && whole && one_sign) [[likely]]
    return true;
  char const* const allowed = header_.field == matrix_field::integer ? "a whole number of 64 bits"
                                                                     : "a finite decimal number";
  return fail_here(word.empty()
                       ? fmt::format("the value is missing, allowed is {}", allowed)
                       : fmt::format("read value {}, allowed is {}", in_quotes(word), allowed));
}

bool entry_reader::check_memory() {
  std::uint64_t const bytes =
      edges_.size() * (sizeof(edge) + sizeof(std::uint32_t)) + vertex_bytes(header_.vertex_count);
  if (bytes <= limit_)
    return true;
  return fail(
      make_error(std::errc::value_too_large,
                 fmt::format("{}:{}: {} edges need {} bytes, the limit is {}", lines_.name(),
                             lines_.line_number(), edges_.size(), bytes, limit_)));
}

bool entry_reader::fail(error problem) {
  problem_ = std::move(problem);
  return false;
}

bool entry_reader::fail_here(std::string_view what) {
  return fail(malformed(lines_.name(), lines_.line_number(), what));
}

} // namespace

result<csr_graph> read_matrix_market(std::filesystem::path const& path,
                                     matrix_market_options const& options) try {
  auto lines = line_source::open(path);
  if (!lines)
    return lines.error();
  auto const limit = memory_limit(options.memory_limit_bytes);
  auto const header = read_matrix_market_header(*lines, limit);
  if (!header)
    return header.error();
  auto const edges = entry_reader(*lines, *header, limit).read();
  if (!edges)
    return edges.error();
  return make_csr(header->vertex_count, *edges, options.repeated);
} catch (std::bad_alloc const&) {
  return make_error(std::errc::not_enough_memory,
                    fmt::format("{} does not fit into memory", path.string()));
}

} // namespace quarry::graph

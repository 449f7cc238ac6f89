// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <quarry/graph/matrix_market.hpp>

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>

namespace quarry::graph {
namespace {

constexpr std::size_t flush_bytes = std::size_t{1} << 18;

void append_number(std::string& text, std::uint64_t number, char after) {
  char digits[20];
  auto const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  text.append(digits, end);
  text += after;
}

std::string header_of(csr_graph const& graph, std::string const& comments) {
  std::string text = "%%MatrixMarket matrix coordinate pattern general\n";
  for (std::size_t begin = 0; begin < comments.size();) {
    auto const end = std::min(comments.find('\n', begin), comments.size());
    text.append("% ").append(comments, begin, end - begin).append("\n");
    begin = end + 1;
  }
  append_number(text, graph.vertex_count, ' ');
  append_number(text, graph.vertex_count, ' ');
  append_number(text, graph.edge_count(), '\n');
  return text;
}

/// Hands the text over in large pieces; false once `write` has returned false.
template<class Write>
bool write_text(csr_graph const& graph, std::string const& comments, Write write) {
  std::string text = header_of(graph, comments);
  for (std::uint32_t source = 0; source < graph.vertex_count; ++source) {
    for (std::uint32_t const target : graph.out_edges(source)) {
      append_number(text, std::uint64_t{source} + 1, ' ');
      append_number(text, std::uint64_t{target} + 1, '\n');
      if (text.size() < flush_bytes)
        continue;
      if (!write(text))
        return false;
      text.clear();
    }
  }
  return write(text);
}

error write_error(std::string const& name, int code) {
  auto const reason = std::error_code(code != 0 ? code : EIO, std::generic_category());
  return {reason, fmt::format("{}: cannot write: {}", name, reason.message())};
}

} // namespace

result<void> write_matrix_market(std::FILE* out, std::string const& name, csr_graph const& graph,
                                 std::string const& comments) {
  errno = 0;
  bool const written = write_text(graph, comments, [out](std::string const& text) {
    return std::fwrite(text.data(), 1, text.size(), out) == text.size();
  });
  if (!written || std::fflush(out) != 0)
    return write_error(name, errno);
  return {};
}

result<void> write_matrix_market(std::filesystem::path const& path, csr_graph const& graph,
                                 std::string const& comments) {
  errno = 0;
  // T: zlib hands the bytes on as they are.
  gzFile const file = ::gzopen(path.c_str(), path.extension() == ".gz" ? "wb" : "wbT");
  if (file == nullptr)
    return write_error(path.string(), errno);
  bool const written = write_text(graph, comments, [file](std::string const& text) {
    return ::gzwrite(file, text.data(), static_cast<unsigned>(text.size())) ==
           static_cast<int>(text.size());
  });
  int const code = errno;
  bool const closed = ::gzclose_w(file) == Z_OK;
  if (written && closed)
    return {};
  auto failure = write_error(path.string(), written ? errno : code);
  // A device such as /dev/full is not ours to remove.
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored))
    std::filesystem::remove(path, ignored);
  return failure;
}

} // namespace quarry::graph

// SPDX-License-Identifier: Apache-2.0
#include "line_source.hpp"
#include "text.hpp"

#include <quarry/graph/names.hpp>
#include <quarry/in_quotes.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <system_error>

namespace quarry::graph {

std::filesystem::path names_beside(std::filesystem::path const& graph_file) {
  auto stem = graph_file;
  if (stem.extension() == ".gz" && stem.stem().extension() == ".mtx")
    stem.replace_extension();
  if (stem.extension() == ".mtx")
    return stem.replace_extension(".names");
  return stem += ".names";
}

result<std::vector<std::string>> read_names(std::filesystem::path const& path) {
  auto lines = line_source::open(path);
  if (!lines)
    return lines.error();
  std::vector<std::string> names;
  std::string_view line;
  while (lines->next(line)) {
    if (line.empty())
      return malformed(lines->name(), lines->line_number(),
                       "the line is empty; each line must be the name of a vertex");
    names.emplace_back(line);
  }
  if (lines->failure())
    return *lines->failure();
  return names;
}

result<void> write_names(std::filesystem::path const& path, std::span<std::string const> names) {
  for (std::size_t v = 0; v < names.size(); ++v)
    if (names[v].empty() || names[v].find_first_of("\r\n") != std::string::npos)
      return make_error(
          std::errc::invalid_argument,
          fmt::format("the name {} of vertex {} is not one line of text", in_quotes(names[v]), v));
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  bool const opened = out.is_open();
  for (auto const& name : names)
    out << name << '\n';
  out.close();
  if (!out.fail())
    return {};
  auto const code = std::error_code(errno != 0 ? errno : EIO, std::generic_category());
  std::error_code ignored;
  if (opened && std::filesystem::is_regular_file(path, ignored))
    std::filesystem::remove(path, ignored);
  return error{code, fmt::format("{}: cannot write: {}", path.string(), code.message())};
}

} // namespace quarry::graph

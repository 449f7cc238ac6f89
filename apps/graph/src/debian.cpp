// SPDX-License-Identifier: Apache-2.0
#include "debian_parser.hpp"
#include "line_source.hpp"
#include "text.hpp"

#include <quarry/graph/debian.hpp>

#include <fmt/format.h>

namespace quarry::graph {

result<debian_graph> read_debian_packages(std::istream& packages, std::string const& name) {
  debian_parser parser(name);
  std::string text;
  while (std::getline(packages, text))
    if (auto const taken = parser.line(text); !taken)
      return taken.error();
  if (packages.bad())
    return make_error(std::errc::io_error, fmt::format("cannot read {}", name));
  return parser.finish();
}

result<debian_graph> read_debian_packages(std::filesystem::path const& path) {
  auto lines = line_source::open(path);
  if (!lines)
    return lines.error();
  debian_parser parser(lines->name());
  std::string_view text;
  while (lines->next(text))
    if (auto const taken = parser.line(text); !taken)
      return taken.error();
  if (lines->failure())
    return *lines->failure();
  return parser.finish();
}

} // namespace quarry::graph

// SPDX-License-Identifier: Apache-2.0
#include "source_text.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace quarry {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest = 160; // characters: what is longer is no source line to be read

std::string read_line(fs::path const& file, std::uint_least32_t number) {
  std::error_code none;
  if (!fs::is_regular_file(file, none))
    return "";
  std::ifstream in(file);
  std::string line;
  for (std::uint_least32_t i = 0; i != number; ++i)
    if (!std::getline(in, line))
      return "";
  auto const first = line.find_first_not_of(" \t");
  if (first == std::string::npos)
    return "";
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

} // namespace

std::string source_line(std::source_location where) {
  fs::path const name = where.file_name();
  std::string line = read_line(name, where.line());
  std::error_code none;
  if (line.empty() && name.is_relative())
    for (fs::path folder = fs::read_symlink("/proc/self/exe", none).parent_path();
         line.empty() && !folder.empty(); folder = folder.parent_path()) {
      line = read_line(folder / name, where.line());
      if (folder == folder.root_path())
        break;
    }
  return line.size() > longest ? "" : line;
}

} // namespace quarry

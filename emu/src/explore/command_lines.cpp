// SPDX-License-Identifier: Apache-2.0
#include "command_lines.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

namespace quarry {

std::string replay_line(explore_options const& o, std::string const& file) {
  return o.replay_command.empty()
             ? fmt::format("{} --quarry-replay={}", program_invocation_name, file)
             : o.replay_command + file;
}

std::string debug_line(explore_options const& o, std::string const& file) {
  return o.debug_command.empty()
             ? fmt::format("quarry gdb -- {} --quarry-replay={}", program_invocation_name, file)
             : o.debug_command + file;
}

std::string indented(std::string_view text, std::string_view by) {
  std::string all;
  while (!text.empty()) {
    auto const end = std::min(text.find('\n'), text.size());
    all += fmt::format("{}{}\n", by, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

} // namespace quarry

// SPDX-License-Identifier: Apache-2.0
#include "command_lines.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

namespace quarry {
namespace {

/// As a word of a shell command.
std::string quoted(std::string_view word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789_-+=.,:@%/";
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos)
    return std::string(word);
  std::string text = "'";
  for (char const c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// As a word of its own, which is no option.
std::string quoted_file(std::string const& file) {
  return quoted(file.starts_with('-') ? "./" + file : file);
}

} // namespace

std::string replay_line(explore_options const& o, std::string const& file) {
  return o.replay_command.empty()
             ? fmt::format("{} --quarry-replay={}", quoted(program_invocation_name), quoted(file))
             : o.replay_command + quoted_file(file);
}

std::string debug_line(explore_options const& o, std::string const& file) {
  return o.debug_command.empty() ? fmt::format("quarry gdb -- {} --quarry-replay={}",
                                               quoted(program_invocation_name), quoted(file))
                                 : o.debug_command + quoted_file(file);
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

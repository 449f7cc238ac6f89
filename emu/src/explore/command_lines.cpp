// SPDX-License-Identifier: Apache-2.0
#include "command_lines.hpp"

#include "replay_request.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

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

/// The program as it was started, with the file to replay: after its options, of which there are no
/// more after a `--`.
std::string own_command(std::string const& file) {
  std::string all = quoted(program_invocation_name);
  std::string replays = " --quarry-replay=" + quoted(file);
  std::vector<std::string> const arguments = program_arguments();
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "--")
      all += std::exchange(replays, "");
    if (!is_replay_option(arguments[i]))
      all += ' ' + quoted(arguments[i]);
  }
  return all + replays;
}

/// As a word of its own, which is no option.
std::string quoted_file(std::string const& file) {
  return quoted(file.starts_with('-') ? "./" + file : file);
}

} // namespace

std::string replay_line(explore_options const& o, std::string const& file) {
  return o.replay_command.empty() ? own_command(file) : o.replay_command + quoted_file(file);
}

std::string debug_line(explore_options const& o, std::string const& file) {
  return o.debug_command.empty() ? "quarry gdb -- " + own_command(file)
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

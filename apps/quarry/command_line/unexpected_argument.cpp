// SPDX-License-Identifier: Apache-2.0
#include "unexpected_argument.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry::command {
namespace {

/// How many characters have to be put in, left out or changed (Levenshtein).
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      std::size_t const changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

/// An option's name, without its value.
std::string_view name_in(std::string_view word) {
  return word.starts_with('-') ? word.substr(0, word.find('=')) : word;
}

/// "did you mean --updates?"; empty: no option looks like it.
std::string did_you_mean(CLI::App const& command, std::string_view word) {
  word = name_in(word);
  std::string nearest;
  if (!word.starts_with("--"))
    return nearest;
  std::size_t best = 4; // characters that differ, and nothing is meant
  for (auto const* option : command.get_options())
    for (auto const& name : option->get_lnames()) {
      std::string const spelt = "--" + name;
      std::size_t const differs = distance(word, spelt);
      if (differs < best && differs + 2 < word.size()) {
        best = differs;
        nearest = "did you mean " + spelt + "?";
      }
    }
  return nearest;
}

/// The last command on the command line, and how what it says begins.
struct chosen_command {
  CLI::App const* command;
  std::string speaker; ///< "run gups: "; empty: the whole
};

chosen_command chosen(CLI::App const& app) {
  chosen_command last{&app, {}};
  for (auto next = app.get_subcommands(); !next.empty(); next = last.command->get_subcommands()) {
    last.command = next.front();
    last.speaker += (last.speaker.empty() ? "" : " ") + last.command->get_name();
  }
  if (!last.speaker.empty())
    last.speaker += ": ";
  return last;
}

} // namespace

std::string not_expected(CLI::App const& command, std::string_view word,
                         std::string const& otherwise) {
  std::string const meant = did_you_mean(command, word);
  std::string const& hint = meant.empty() ? otherwise : meant;
  return fmt::format("'{}' was not expected{}{}", word, hint.empty() ? "" : "; ", hint);
}

std::string unexpected_argument(CLI::App const& app) {
  auto const [command, speaker] = chosen(app);
  auto const rest = command->remaining();
  return rest.empty() ? std::string() : speaker + not_expected(*command, name_in(rest.front()));
}

std::string unknown_option(CLI::App const& app) {
  auto const [command, speaker] = chosen(app);
  if (command->get_allow_extras())
    return {};
  for (auto const& word : command->remaining())
    if (word.starts_with('-'))
      return speaker + not_expected(*command, name_in(word));
  return {};
}

} // namespace quarry::command

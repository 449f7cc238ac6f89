// SPDX-License-Identifier: Apache-2.0
#include "subcommand.hpp"

#include "unexpected_argument.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace quarry::command {
namespace {

std::string names_of(CLI::App const& group) {
  std::string names;
  for (auto const* one : group.get_subcommands({}))
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one->get_name());
  return names.empty() ? "this build has none" : "there are: " + names;
}

void check(CLI::App const& group, std::string const& what) {
  auto const rest = group.remaining(); // all before the subcommand: it has its own
  auto const speaker = group.get_parent() == nullptr ? "" : group.get_name() + ": ";
  if (rest.empty()) {
    if (group.get_subcommands().empty())
      throw CLI::ValidationError(fmt::format("{}no {} given; {}", speaker, what, names_of(group)));
    return;
  }
  auto const& word = rest.front();
  if (word.starts_with('-'))
    throw CLI::ValidationError(
        speaker + not_expected(group, word, fmt::format("options come after the {}", what)));
  throw CLI::ValidationError(fmt::format("{}no {} '{}'; {}", speaker, what, word, names_of(group)));
}

} // namespace

void need_subcommand(CLI::App& group, std::string const& what) {
  group.require_subcommand(0, 1);
  group.allow_extras(); // to say what is wrong with them
  // Before the callback of any subcommand, and so before anything runs.
  group.parse_complete_callback([&group, what] { check(group, what); });
}

} // namespace quarry::command

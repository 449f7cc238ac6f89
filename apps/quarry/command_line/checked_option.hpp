// SPDX-License-Identifier: Apache-2.0
// Options that say what is allowed. Only files that use more of CLI11 include its header.
#pragma once

#include "cli_forward.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace quarry::command {

/// Adds an option that takes a whole number from `low` to `high`, and says so when it gets
/// something else. (CLI11 alone takes -1 for the largest unsigned number, and 010 for eight.)
CLI::Option* add_number(CLI::App& command, std::string const& name, std::uint32_t& number,
                        std::uint32_t low, std::uint32_t high, std::string const& what);
CLI::Option* add_number(CLI::App& command, std::string const& name, std::uint64_t& number,
                        std::uint64_t low, std::uint64_t high, std::string const& what);

/// Adds an option that takes a whole number; without it there is no bound.
CLI::Option* add_bound(CLI::App& command, std::string const& name,
                       std::optional<std::uint32_t>& most, std::string const& what);

/// Adds an option that takes a number from 0 to `high`, with a point or without.
CLI::Option* add_fraction(CLI::App& command, std::string const& name, double& number, double high,
                          std::string const& what);

/// Adds an option that takes a time in seconds, from a millisecond to a day.
CLI::Option* add_seconds(CLI::App& command, std::string const& name,
                         std::chrono::milliseconds& time, std::string const& what);

/// Adds an option that takes any text.
CLI::Option* add_text(CLI::App& command, std::string const& name, std::string& text,
                      std::string const& what);

/// Adds an option that takes the name of a file that is there.
CLI::Option* add_input_file(CLI::App& command, std::string const& name, std::string& file,
                            std::string const& what);

/// Adds an option that takes the name of a file to write, which is not empty. Whether it may be
/// written is for check_writable() to say.
CLI::Option* add_output_file(CLI::App& command, std::string const& name, std::string& file,
                             std::string const& what);

/// Adds an option that takes one of `names`, and lists them all when it gets something else;
/// `choose` gets the index. names[chosen] is the default.
CLI::Option* add_named(CLI::App& command, std::string const& name,
                       std::span<char const* const> names, std::size_t chosen,
                       std::function<void(std::size_t)> choose, std::string const& what);

/// One word that an option takes, and what it stands for.
template<class T>
struct choice {
  char const* name;
  T value;
};

/// Adds an option that takes one of the names of `choices`, which outlive it. `chosen` holds the
/// default.
template<class T, std::size_t N>
CLI::Option* add_choice(CLI::App& command, std::string const& name, T& chosen,
                        std::array<choice<T>, N> const& choices, std::string const& what) {
  std::array<char const*, N> names{};
  std::size_t at = N;
  for (std::size_t i = 0; i < N; ++i) {
    names[i] = choices[i].name;
    if (choices[i].value == chosen)
      at = i;
  }
  return add_named(
      command, name, names, at, [&](std::size_t i) { chosen = choices[i].value; }, what);
}

/// The name that stands for `value`.
template<class T, std::size_t N>
char const* name_of(std::array<choice<T>, N> const& choices, T value) {
  for (auto const& one : choices)
    if (one.value == value)
      return one.name;
  return "?";
}

/// Only one of the two may be given.
void exclude(CLI::Option* one, CLI::Option* other);
/// Whether the option, which the command has, is on the command line.
[[nodiscard]] bool is_given(CLI::App const& command, char const* name);

/// Looks whether options go together, when all have been read and before anything runs.
void check_when_read(CLI::App& command, std::function<void()> check);

/// For a check: the command ends with "option: why".
[[noreturn]] void refuse(std::string const& option, std::string const& why);

} // namespace quarry::command

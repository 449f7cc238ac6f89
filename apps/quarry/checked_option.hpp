// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <string>
#include <system_error>
#include <type_traits>

namespace quarry::command {

/// Adds an option that takes a whole number from `low` to `high`, and says so when it gets
/// something else. (CLI11 alone takes -1 for the largest unsigned number.)
template<std::unsigned_integral T>
CLI::Option* add_number(CLI::App& command, std::string const& name, T& number,
                        std::type_identity_t<T> low, std::type_identity_t<T> high,
                        std::string const& what) {
  auto const is_allowed = [low, high](std::string const& text) -> std::string {
    T read{};
    auto const last = text.data() + text.size();
    auto const [end, code] = std::from_chars(text.data(), last, read);
    if (code == std::errc{} && end == last && low <= read && read <= high)
      return {};
    return fmt::format("read '{}', allowed is a whole number from {} to {}", text, low, high);
  };
  return command.add_option(name, number, what)
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Validator(is_allowed, ""));
}

/// Adds an option that takes a time in seconds, from a millisecond to a day.
CLI::Option* add_seconds(CLI::App& command, std::string const& name,
                         std::chrono::milliseconds& time, std::string const& what);

/// One word that an option takes, and what it stands for.
template<class T>
struct choice {
  char const* name;
  T value;
};

/// Adds an option that takes one of the names of `choices`, which outlive it, and lists them all
/// when it gets something else. `chosen` holds the default.
template<class T, std::size_t N>
CLI::Option* add_choice(CLI::App& command, std::string const& name, T& chosen,
                        std::array<choice<T>, N> const& choices, std::string const& what) {
  std::string names;
  std::string default_name;
  for (auto const& one : choices) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
    if (one.value == chosen)
      default_name = one.name;
  }
  auto const is_allowed = [&choices, names](std::string const& text) -> std::string {
    for (auto const& one : choices)
      if (text == one.name)
        return {};
    return fmt::format("read '{}', allowed is one of: {}", text, names);
  };
  auto const choose = [&chosen, &choices](std::string const& text) {
    for (auto const& one : choices)
      if (text == one.name)
        chosen = one.value;
  };
  return command.add_option_function<std::string>(name, choose, what + ": " + names)
      ->type_name("NAME")
      ->default_str(default_name)
      ->check(CLI::Validator(is_allowed, ""));
}

/// The name that stands for `value`.
template<class T, std::size_t N>
char const* name_of(std::array<choice<T>, N> const& choices, T value) {
  for (auto const& one : choices)
    if (one.value == value)
      return one.name;
  return "?";
}

} // namespace quarry::command

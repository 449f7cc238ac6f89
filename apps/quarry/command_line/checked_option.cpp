// SPDX-License-Identifier: Apache-2.0
#include "checked_option.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace quarry::command {
namespace {

/// Decimal, or hexadecimal after 0x, as reports write seeds; 010 is ten.
template<class T>
std::optional<T> to_whole(std::string const& text, T low, T high) {
  T read{};
  bool const is_hex = text.starts_with("0x") || text.starts_with("0X");
  auto const last = text.data() + text.size();
  auto const [end, code] =
      std::from_chars(text.data() + (is_hex ? 2 : 0), last, read, is_hex ? 16 : 10);
  if (code != std::errc{} || end != last || read < low || read > high)
    return std::nullopt;
  return read;
}

std::optional<double> to_real(std::string const& text, double low, double high) {
  double read = 0;
  auto const last = text.data() + text.size();
  auto const [end, code] = std::from_chars(text.data(), last, read);
  if (code != std::errc{} || end != last || !(read >= low && read <= high))
    return std::nullopt;
  return read;
}

std::optional<std::chrono::milliseconds> to_time(std::string const& text) {
  auto const seconds = to_real(text, 0.001, 86400);
  if (!seconds)
    return std::nullopt;
  return std::chrono::milliseconds(std::llround(*seconds * 1000));
}

/// `set` takes what `read` makes of the text; it makes nothing of what is not `allowed`.
template<class Read, class Set>
CLI::Option* add_read(CLI::App& command, std::string const& name, Read read, Set set,
                      std::string const& allowed, std::string const& what) {
  auto const refusal = [read, allowed](std::string const& text) {
    return read(text) ? std::string() : fmt::format("read '{}', allowed is {}", text, allowed);
  };
  auto const take = [read, set](std::string const& text) {
    if (auto const value = read(text))
      set(*value);
  };
  return command.add_option_function<std::string>(name, take, what)
      ->check(CLI::Validator(refusal, ""));
}

/// `number`: a T, or an optional one.
template<class T, class Number>
CLI::Option* add_whole(CLI::App& command, std::string const& name, Number& number, T low, T high,
                       std::string const& what) {
  return add_read(
             command, name,
             [low, high](std::string const& text) { return to_whole(text, low, high); },
             [&number](T value) { number = value; },
             fmt::format("a whole number from {} to {}", low, high), what)
      ->type_name("N");
}

} // namespace

CLI::Option* add_number(CLI::App& command, std::string const& name, std::uint32_t& number,
                        std::uint32_t low, std::uint32_t high, std::string const& what) {
  return add_whole(command, name, number, low, high, what)->default_str(fmt::format("{}", number));
}

CLI::Option* add_number(CLI::App& command, std::string const& name, std::uint64_t& number,
                        std::uint64_t low, std::uint64_t high, std::string const& what) {
  return add_whole(command, name, number, low, high, what)->default_str(fmt::format("{}", number));
}

CLI::Option* add_bound(CLI::App& command, std::string const& name,
                       std::optional<std::uint32_t>& most, std::string const& what) {
  return add_whole(command, name, most, 0U, UINT32_MAX, what)->default_str("any number");
}

CLI::Option* add_fraction(CLI::App& command, std::string const& name, double& number, double high,
                          std::string const& what) {
  return add_read(
             command, name, [high](std::string const& text) { return to_real(text, 0, high); },
             [&number](double value) { number = value; },
             fmt::format("a number from 0 to {}", high), what)
      ->type_name("NUMBER")
      ->default_str(fmt::format("{}", number));
}

CLI::Option* add_seconds(CLI::App& command, std::string const& name,
                         std::chrono::milliseconds& time, std::string const& what) {
  return add_read(
             command, name, to_time, [&time](std::chrono::milliseconds value) { time = value; },
             "a number of seconds from 0.001 to 86400", what)
      ->type_name("SECONDS")
      ->default_str(fmt::format("{}", static_cast<double>(time.count()) / 1000));
}

CLI::Option* add_text(CLI::App& command, std::string const& name, std::string& text,
                      std::string const& what) {
  return command.add_option(name, text, what);
}

CLI::Option* add_input_file(CLI::App& command, std::string const& name, std::string& file,
                            std::string const& what) {
  return command.add_option(name, file, what)->type_name("FILE")->check(CLI::ExistingFile);
}

CLI::Option* add_output_file(CLI::App& command, std::string const& name, std::string& file,
                             std::string const& what) {
  auto const is_allowed = [](std::string const& text) -> std::string {
    return text.empty()  ? "is empty, allowed is a name"
           : text == "-" ? "read '-', allowed is a name; standard output is /dev/stdout"
                         : "";
  };
  return command.add_option(name, file, what)
      ->type_name("FILE")
      ->check(CLI::Validator(is_allowed, ""));
}

CLI::Option* add_named(CLI::App& command, std::string const& name,
                       std::span<char const* const> names, std::size_t chosen,
                       std::function<void(std::size_t)> choose, std::string const& what) {
  std::vector<std::string> const all(names.begin(), names.end());
  std::string const list = fmt::format("{}", fmt::join(all, ", "));
  auto const index_of = [all](std::string const& text) {
    return static_cast<std::size_t>(std::find(all.begin(), all.end(), text) - all.begin());
  };
  auto const is_allowed = [index_of, list, count = all.size()](std::string const& text) {
    return index_of(text) < count ? std::string()
                                  : fmt::format("read '{}', allowed is one of: {}", text, list);
  };
  auto const set = [index_of, choose = std::move(choose)](std::string const& text) {
    choose(index_of(text));
  };
  return command.add_option_function<std::string>(name, set, what + ": " + list)
      ->type_name("NAME")
      ->default_str(chosen < all.size() ? all[chosen] : "")
      ->check(CLI::Validator(is_allowed, ""));
}

void exclude(CLI::Option* one, CLI::Option* other) {
  one->excludes(other);
}

bool is_given(CLI::App const& command, char const* name) {
  return command.count(name) > 0;
}

void check_when_read(CLI::App& command, std::function<void()> check) {
  command.parse_complete_callback(std::move(check));
}

void refuse(std::string const& option, std::string const& why) {
  throw CLI::ValidationError(option, why);
}

} // namespace quarry::command

// SPDX-License-Identifier: Apache-2.0
#include "checked_option.hpp"

#include <cmath>
#include <optional>

namespace quarry::command {
namespace {

std::optional<std::chrono::milliseconds> to_time(std::string const& text) {
  double seconds = 0;
  auto const last = text.data() + text.size();
  auto const [end, code] = std::from_chars(text.data(), last, seconds);
  if (code != std::errc{} || end != last || !(seconds >= 0.001 && seconds <= 86400))
    return std::nullopt;
  return std::chrono::milliseconds(std::llround(seconds * 1000));
}

} // namespace

CLI::Option* add_seconds(CLI::App& command, std::string const& name,
                         std::chrono::milliseconds& time, std::string const& what) {
  auto const is_allowed = [](std::string const& text) -> std::string {
    if (to_time(text))
      return {};
    return fmt::format("read '{}', allowed is a number of seconds from 0.001 to 86400", text);
  };
  auto const set = [&time](std::string const& text) { time = to_time(text).value_or(time); };
  return command.add_option_function<std::string>(name, set, what)
      ->type_name("SECONDS")
      ->default_str(fmt::format("{}", static_cast<double>(time.count()) / 1000))
      ->check(CLI::Validator(is_allowed, ""));
}

} // namespace quarry::command

// SPDX-License-Identifier: Apache-2.0
#include "replay_request.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace quarry {
namespace {

constexpr std::string_view option = "--quarry-replay=";

/// Of the program, with the file or without one; empty: there is none. What stands behind -- is
/// somebody else's: `quarry launch -- PROGRAM --quarry-replay=FILE`.
std::string find_argument() {
  for (std::string const& argument : program_arguments()) {
    if (is_replay_option(argument))
      return argument;
    if (argument == "--")
      break;
  }
  return "";
}

std::string requested_path() {
  std::string const argument = find_argument();
  if (argument.size() > option.size())
    return argument.substr(option.size());
  if (!argument.empty())
    throw std::invalid_argument("--quarry-replay: the file comes after =, as in " +
                                std::string(option) + "FILE");
  char const* const named = std::getenv("QUARRY_REPLAY");
  return named == nullptr ? "" : named;
}

std::optional<replay_file> read_request() {
  std::string const path = requested_path();
  if (path.empty())
    return std::nullopt;
  auto file = replay_file::read(path);
  if (!file)
    throw std::invalid_argument(file.error().what);
  return std::move(*file);
}

std::string wanted;       // the name of the world
bool is_answered = false; // by an exploration of that name, or by an error

/// When the program ends. The environment may be meant for another one.
void tell_if_nobody_has() {
  if (is_answered)
    return;
  bool const is_argument = !find_argument().empty();
  if (wanted.empty() && !is_argument)
    return;
  std::fputs((wanted.empty() ? "quarry: --quarry-replay: nothing was explored\n"
                             : "quarry: the replay file is of '" + wanted +
                                   "': nothing of that name was explored\n")
                 .c_str(),
             stderr);
  if (!is_argument)
    return;
  std::fflush(nullptr);
  std::_Exit(EXIT_FAILURE);
}

int const asks_at_the_end = std::atexit(&tell_if_nobody_has);

std::optional<replay_file> const& request() {
  static std::optional<replay_file> const file = [] {
    is_answered = true; // unless it can be read
    auto read = read_request();
    is_answered = false;
    if (read)
      wanted = read->name;
    return read;
  }();
  return file;
}

} // namespace

std::vector<std::string> program_arguments() {
  std::vector<std::string> all;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  for (std::string argument; std::getline(file, argument, '\0');)
    all.push_back(argument);
  return all;
}

bool is_replay_option(std::string_view argument) {
  return argument.starts_with(option) || argument == option.substr(0, option.size() - 1);
}

bool is_replay_requested() {
  return request().has_value();
}

replay_file const* requested_replay(std::string const& name) {
  static std::mutex mutex;
  std::lock_guard const lock(mutex);
  auto const& file = request();
  if (!file || file->name != replay_file::one_line(name))
    return nullptr;
  is_answered = true;
  return &*file;
}

} // namespace quarry

// SPDX-License-Identifier: Apache-2.0
// `quarry launch` of a script, in tests.
#pragma once

#include "running_command.hpp"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

inline command_outcome quarry(std::vector<std::string> arguments) {
  return run_command("QUARRY_COMMAND", std::move(arguments));
}

/// The command line of `quarry launch <options> -- sh -c <script>`.
inline std::vector<std::string> launch_line(std::vector<std::string> options,
                                            std::string const& script) {
  std::vector<std::string> line{"launch"};
  line.insert(line.end(), options.begin(), options.end());
  for (std::string const& word : {std::string("--"), std::string("sh"), std::string("-c"), script})
    line.push_back(word);
  return line;
}

inline command_outcome launch(std::vector<std::string> options, std::string const& script) {
  return quarry(launch_line(std::move(options), script));
}

inline std::vector<std::string> with_command(std::vector<std::string> line) {
  line.insert(line.begin(), std::getenv("QUARRY_COMMAND"));
  return line;
}

// tail ends when its output is a pipe that nobody reads any more.
inline constexpr char const* wait_for_ever = "exec tail -f /dev/null >/dev/null";

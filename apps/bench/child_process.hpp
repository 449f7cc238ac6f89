// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace quarry::bench {

struct child_result {
  int exit_status = 0; ///< 128 + signal if a signal ended it
  bool timed_out = false;
  std::string output; ///< what it wrote to standard output
};

/// Runs `command` (a path and its arguments) to its end, with its standard error passed through.
///
/// The child gets a process group of its own; when `limit` has passed the whole group is
/// told to end, and killed five seconds later if it has not.
///
/// Errors throws std::system_error if the child cannot be started
[[nodiscard]] child_result run_child(std::vector<std::string> const& command,
                                     std::chrono::milliseconds limit);

/// The folder of the running program, in which its companions lie too.
[[nodiscard]] std::string program_folder();

} // namespace quarry::bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line/cli_forward.hpp"

namespace quarry::command {

/// Adds `quarry explore [TARGET]` and `quarry replay FILE` to the command line.
///
/// They run while the command line is parsed. `exit_status` is borrowed until then and becomes 1
/// if a failure was found (with --all-weakenings: if one was not), 2 if what was asked for does not
/// exist, 3 if a file cannot be read or written.
void add_explore_command(CLI::App& quarry, int& exit_status);
void add_replay_command(CLI::App& quarry, int& exit_status);

} // namespace quarry::command

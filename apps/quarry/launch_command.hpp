// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line/cli_forward.hpp"

#include <string>
#include <vector>

namespace quarry::command {

/// Adds `quarry launch -n N -- PROGRAM …`. `program` is what stood behind the first "--".
///
/// It runs while the command line is parsed; both references are borrowed until then. `exit_status`
/// becomes that of run_process_group(), or 2 if the program cannot be started.
void add_launch_command(CLI::App& quarry, std::vector<std::string> const& program,
                        int& exit_status);

} // namespace quarry::command

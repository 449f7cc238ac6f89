// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line/cli_forward.hpp"

#include <string>
#include <vector>

namespace quarry::command {

/// `quarry gdb`: gdb with Quarry's commands, on a program or on a saved failure. `program` is what
/// stands after -- on the command line.
void add_gdb_command(CLI::App& quarry, std::vector<std::string> const& program, int& exit_status);

} // namespace quarry::command

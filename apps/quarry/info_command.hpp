// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line/cli_forward.hpp"

namespace quarry::command {

/// Adds `quarry info [--json FILE]`, which says what this build has. It runs while the command
/// line is parsed; `exit_status` is borrowed until then and becomes 3 if the file cannot be
/// written.
void add_info_command(CLI::App& quarry, int& exit_status);

} // namespace quarry::command

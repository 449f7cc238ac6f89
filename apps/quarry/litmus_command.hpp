// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line/cli_forward.hpp"

namespace quarry::command {

/// Adds `quarry litmus FILE|DIR…`, which runs litmus tests on the emulator's caches.
///
/// It runs while the command line is parsed. `exit_status` is borrowed until then and becomes 1 if
/// an expectation is not met, 2 if a file is not what it should be, 3 if one cannot be written.
void add_litmus_command(CLI::App& quarry, int& exit_status);

} // namespace quarry::command

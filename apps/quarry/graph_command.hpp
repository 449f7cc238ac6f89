// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line/cli_forward.hpp"

namespace quarry::command {

/// Adds `quarry graph debian|rmat|hexagonal-mesh|info|fibonacci` to the command line.
///
/// The chosen one runs while the command line is parsed. Graphs go to standard output or to the
/// file of -o, everything that is said about them to standard error. `exit_status` is borrowed
/// until then and becomes 1 if the command fails; it is not touched otherwise.
void add_graph_command(CLI::App& quarry, int& exit_status);

} // namespace quarry::command

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line/cli_forward.hpp"

namespace quarry::command {

/// Adds `fibonacci` to `quarry graph`: a channel-flow graph, drawn or run with a progress line.
///
/// `exit_status` as in add_graph_command().
void add_flow_graph(CLI::App& group, int& exit_status);

} // namespace quarry::command

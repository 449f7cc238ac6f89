// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line/cli_forward.hpp"

namespace quarry::command {

/// Adds `quarry study channels|aggregation` to the command line.
///
/// It runs while the command line is parsed. `exit_status` is borrowed until then and becomes 0, or
/// 3 if a file cannot be written. A variant that does not come to its end is a finding: it has a
/// row without figures, and a remark.
void add_study_command(CLI::App& quarry, int& exit_status);

} // namespace quarry::command

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "programs/program.hpp"

#include <span>
#include <string>
#include <vector>

namespace quarry::command {

/// Adds `quarry run APP …` for each of `programs`.
///
/// The chosen one runs while the command line is parsed. For several nodes on loopback this binary
/// is started once for each, with the same `arguments` (those after argv[0]); node 0 prints.
/// All references are borrowed until the parse is over. `exit_status` becomes 0 only if the answer
/// was verified, 1 if it was wrong, 3 for a fault of the world or the kernel, that of the job if
/// processes were started.
void add_run_command(CLI::App& quarry, std::span<program const> programs,
                     std::vector<std::string> const& arguments, int& exit_status);

} // namespace quarry::command

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli_forward.hpp"

#include <string>

namespace quarry::command {

/// Makes `group` need one of the subcommands that it has by now, each a `what`. Without one, and
/// with a word that is none of them, the command ends with an error that names those there are,
/// before anything runs.
void need_subcommand(CLI::App& group, std::string const& what);

} // namespace quarry::command

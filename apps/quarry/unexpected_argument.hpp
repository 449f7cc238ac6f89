// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli_forward.hpp"

#include <string>

namespace quarry::command {

/// After a parse that ended with arguments too many: the first of them, by the command that did not
/// expect it, and which of its options may have been meant. "run gups: '--update' was not expected;
/// did you mean --updates?"
[[nodiscard]] std::string unexpected_argument(CLI::App const& app);

} // namespace quarry::command

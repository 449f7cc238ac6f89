// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli_forward.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace quarry::command {

/// "did you mean --updates?", if the word is nearly the name of an option of the command.
[[nodiscard]] std::optional<std::string> did_you_mean(CLI::App const& command,
                                                      std::string_view word);

/// After a parse that ended with arguments too many: the first of them, by the command that did not
/// expect it, and which of its options may have been meant. "run gups: '--update' was not expected;
/// did you mean --updates?"
[[nodiscard]] std::string unexpected_argument(CLI::App const& app);

} // namespace quarry::command

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli_forward.hpp"

#include <string>
#include <string_view>

namespace quarry::command {

/// "'--update' was not expected; did you mean --updates?", if the word is nearly the name of an
/// option of the command; else `otherwise` stands there, if it is not empty.
[[nodiscard]] std::string not_expected(CLI::App const& command, std::string_view word,
                                       std::string const& otherwise = {});

/// After a parse that ended with arguments too many: the first of them, by the command that did not
/// expect it, and which of its options may have been meant. "run gups: '--update' was not expected;
/// did you mean --updates?"
[[nodiscard]] std::string unexpected_argument(CLI::App const& app);

/// After a parse that ended otherwise: the same of the first option that its command does not know,
/// which may be why something else is wrong, as its value was taken for another argument. Empty:
/// there is none, or the command looks at arguments too many itself.
[[nodiscard]] std::string unknown_option(CLI::App const& app);

} // namespace quarry::command

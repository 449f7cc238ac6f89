// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program.hpp"

#include <string>
#include <string_view>

namespace quarry::command {

/// The result as text: '#' lines that say what ran, two header rows, one row of figures with
/// #wrong at its end, the program's own lines, the verdict.
[[nodiscard]] std::string to_table(std::string_view program, run_options const& options,
                                   program_result const& result);

/// The same as one JSON object.
[[nodiscard]] std::string to_json(std::string_view program, run_options const& options,
                                  program_result const& result);

} // namespace quarry::command

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace quarry::command {

/// A file, and the option that names it.
struct named_file {
  std::string option;
  std::string file; ///< empty: none
};

/// What the shell has put behind standard output.
[[nodiscard]] named_file standard_output_file();

/// Ends with bad usage, naming both options, if `one` is one of the others, under whatever name:
/// what is in it would be lost. Devices and pipes hold nothing, and may be named twice.
void keep_apart(named_file const& one, std::vector<named_file> const& others);

} // namespace quarry::command

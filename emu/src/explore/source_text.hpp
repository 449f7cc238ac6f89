// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>
#include <string>

namespace quarry {

/// The text of that line, without the blanks around it; empty if the file cannot be found or read.
/// A relative name is looked for in the working directory, then in each folder that the program is
/// in: compilers give names as they were called.
[[nodiscard]] std::string source_line(std::source_location where);

} // namespace quarry

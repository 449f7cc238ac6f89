// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <source_location>
#include <string>

namespace quarry {

/// The text of that line, without the blanks around it; empty if the file cannot be found or read.
/// A relative name is looked for in the working directory, then in each folder that the program is
/// in: compilers give names as they were called.
[[nodiscard]] std::string source_line(std::source_location where);

[[nodiscard]] inline bool is_same_line(std::source_location a, std::source_location b) noexcept {
  return a.line() == b.line() && std::strcmp(a.file_name(), b.file_name()) == 0;
}

} // namespace quarry

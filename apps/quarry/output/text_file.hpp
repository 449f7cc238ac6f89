// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/result.hpp>

#include <string>
#include <string_view>

namespace quarry::command {

/// Whether write_text() may write `file`, which stays as it is: asked before the work whose result
/// goes there. A disk that is full shows only later. No name, no file: that may.
///
/// Errors   a std::errc – it may not; names it
[[nodiscard]] result<void> check_writable(std::string const& file);

/// Makes `file` hold `text` and nothing else.
///
/// Errors   a std::errc – it cannot be written; names it
[[nodiscard]] result<void> write_text(std::string const& file, std::string_view text);

} // namespace quarry::command

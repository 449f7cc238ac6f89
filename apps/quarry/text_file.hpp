// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/result.hpp>

#include <string>
#include <string_view>

namespace quarry::command {

/// Makes `file` hold `text` and nothing else.
///
/// Errors   a std::errc – it cannot be written; names it
[[nodiscard]] result<void> write_text(std::string const& file, std::string_view text);

} // namespace quarry::command

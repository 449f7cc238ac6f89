// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/result.hpp>

#include <filesystem>
#include <string>

namespace quarry::litmus {

/// All of a file.
///
/// Errors   a std::errc – it cannot be read; names it
[[nodiscard]] result<std::string> read_text(std::filesystem::path const& file);

} // namespace quarry::litmus

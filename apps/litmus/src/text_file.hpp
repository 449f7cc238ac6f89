// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/result.hpp>

#include <cstddef>
#include <filesystem>
#include <string>

namespace quarry::litmus {

/// Far more than a test or a table of verdicts has.
inline constexpr std::size_t most_text_bytes = std::size_t{16} << 20;

/// All of a file.
///
/// Errors   a std::errc – it cannot be read, or has more than most_text_bytes; names it
[[nodiscard]] result<std::string> read_text(std::filesystem::path const& file);

} // namespace quarry::litmus

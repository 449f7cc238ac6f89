// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/result.hpp>

#include <cstddef>
#include <filesystem>
#include <string>

namespace quarry {

/// All that is in a file, or comes out of a pipe.
///
/// Errors   std::errc::file_too_large – it has more than `most_bytes`, as a device without an end;
///          another std::errc – it cannot be read. Says why, and does not name the file
[[nodiscard]] result<std::string> read_text(std::filesystem::path const& file,
                                            std::size_t most_bytes);

} // namespace quarry

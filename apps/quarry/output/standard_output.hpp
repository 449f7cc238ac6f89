// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/result.hpp>

#include <string_view>

namespace quarry::command {

/// Writes to standard output, at once: who reads along sees it. That it could not be written,
/// all_printed() says.
void print(std::string_view text) noexcept;

/// Whether everything has arrived that this process wrote to standard output, by print() or not.
///
/// Errors   a std::errc – something is lost: what is known of the first reason
[[nodiscard]] result<void> all_printed();

} // namespace quarry::command

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>
#include <string_view>

namespace quarry {

/// Prints what is used wrongly, and where if that is known, and aborts: for what no result and no
/// exception can tell of, since whom it would be told to is gone, or about to go.
[[noreturn]] void misuse(std::string_view what, std::source_location where = {}) noexcept;

} // namespace quarry

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace quarry {

/// What somebody has given, for an error message: cut to 60 characters, what cannot be printed as
/// \xNN.
[[nodiscard]] std::string in_quotes(std::string_view text);

} // namespace quarry

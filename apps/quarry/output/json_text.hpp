// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace quarry::command {

/// The text of a JSON file. What is not UTF-8 in it, such as the name of a file may be, becomes
/// U+FFFD: JSON has no other bytes, and the rest is not to be lost for it.
[[nodiscard]] std::string json_text(nlohmann::ordered_json const& json);

} // namespace quarry::command

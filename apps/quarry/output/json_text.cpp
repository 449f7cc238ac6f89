// SPDX-License-Identifier: Apache-2.0
#include "json_text.hpp"

#include <nlohmann/json.hpp>

namespace quarry::command {

std::string json_text(nlohmann::ordered_json const& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

} // namespace quarry::command

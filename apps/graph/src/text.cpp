// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <quarry/memory_limits.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace quarry::graph {

error malformed(std::string_view name, std::uint64_t line, std::string_view what) {
  return make_error(std::errc::bad_message, fmt::format("{}:{}: {}", name, line, what));
}

error make_error(std::errc code, std::string what) {
  return {std::make_error_code(code), std::move(what)};
}

std::uint64_t memory_limit(std::uint64_t asked) {
  if (asked != 0)
    return asked;
  return std::min(machine_memory(), process_memory());
}

} // namespace quarry::graph

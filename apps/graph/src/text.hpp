// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace quarry::graph {

/// The content of a file is not what its format allows: “<name>:<line>: <what>”.
[[nodiscard]] error malformed(std::string_view name, std::uint64_t line, std::string_view what);

[[nodiscard]] error make_error(std::errc code, std::string what);

/// Memory that a graph may take: `asked`, or, when that is 0, what the machine has and the process
/// may have.
[[nodiscard]] std::uint64_t memory_limit(std::uint64_t asked);

} // namespace quarry::graph

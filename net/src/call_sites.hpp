// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

// Lines that begin operations, as small numbers, for messages and commands of an explored job,
// whose pes are in one process: who performs an operation names in reports the line that has asked
// for it.

namespace quarry::net {

/// The same for the same line; 0: there were too many before it. Thread-safe.
[[nodiscard]] std::uint16_t call_site_number(std::source_location where);
/// None for a number that no line has.
[[nodiscard]] std::optional<std::source_location> call_site(std::uint64_t number);

} // namespace quarry::net

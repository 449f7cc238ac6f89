// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quarry::command {

// What the command ends with when it is not 0, as the README has it.
inline constexpr int wrong_answer = 1;
inline constexpr int bad_usage = 2;
inline constexpr int world_fault = 3; ///< also of a kernel, and what cannot be read or written
// By Ctrl-C or SIGTERM, before anything was found: interrupt::exit_status().

} // namespace quarry::command

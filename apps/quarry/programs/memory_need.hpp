// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line/run_options.hpp"

#include <cstdint>
#include <exception>
#include <string>

namespace quarry::command {

/// Refuses `options`, such as "--nodes, --table-size", if this process needs so many bytes at least
/// because of them, and cannot have them: neither more than the machine has nor than `ulimit`
/// allows. To be asked before anything runs.
void need_memory(std::string const& options, std::uint64_t bytes);

/// The same of every node of a run; those that share the machine share its memory.
void need_memory(run_options const& o, std::string const& options, std::uint64_t bytes_per_node);

/// What each node of a run may take of it.
[[nodiscard]] std::uint64_t allowed_bytes_per_node(run_options const& o);

/// From now on a want of memory where nobody can be told of it, as in the runtime's own actors,
/// ends the process with its words and world_fault, instead of by a signal.
void terminate_for_want_of_memory();

/// What has gone wrong, in words for who uses the command.
[[nodiscard]] std::string message_of(std::exception const& e);

} // namespace quarry::command

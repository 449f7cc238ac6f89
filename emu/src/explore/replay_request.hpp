// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/replay_file.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace quarry {

/// Its name first. A test's main() belongs to its framework: they are read where the system keeps
/// them.
[[nodiscard]] std::vector<std::string> program_arguments();
/// `--quarry-replay=FILE`, or without a file.
[[nodiscard]] bool is_replay_option(std::string_view argument);

/// The failure in a world of that name that whoever started this program wants to see again:
/// `--quarry-replay=FILE` among its arguments, or QUARRY_REPLAY in its environment; null if nobody
/// does. Read once; if nobody asks for the name that it has, the program's end says so.
///
/// Errors   std::invalid_argument – the file cannot be read, and why
[[nodiscard]] replay_file const* requested_replay(std::string const& name);
/// Of any name. Errors as above
[[nodiscard]] bool is_replay_requested();

} // namespace quarry

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/explore.hpp>

#include <string>
#include <string_view>

namespace quarry {

// What repeats a saved failure, and shows it in gdb, as somebody types it.
[[nodiscard]] std::string replay_line(explore_options const& options, std::string const& file);
[[nodiscard]] std::string debug_line(explore_options const& options, std::string const& file);

/// Each line of the text, moved to the right.
[[nodiscard]] std::string indented(std::string_view text, std::string_view by = "  ");

} // namespace quarry

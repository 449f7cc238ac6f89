// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choice_record.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/emu/replay_file.hpp>

#include <cstdint>
#include <string>

namespace quarry {

/// A failure of this build with these options; its kind, place and choices are the caller's to set.
[[nodiscard]] replay_file record_of(explore_options const& options, std::uint64_t seed);

/// Makes them options that repeat the recorded failure and do no more. What differs between them
/// and the recorded ones, or this program and the one that recorded it, a line each; the recorded
/// options count.
[[nodiscard]] std::string repeat_by(explore_options& options, replay_file const& recorded);

/// What is not the same in an execution that was to repeat the recorded choices, as a line; empty:
/// nothing. A record that was cut short or edited lists choices that its hash does not belong to.
[[nodiscard]] std::string difference(choice_record const& recorded, choice_record const& run);

} // namespace quarry

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/replay_file.hpp>

namespace quarry {

/// The failure that whoever started this program wants to see again: `--quarry-replay=FILE` among
/// its arguments, or QUARRY_REPLAY in its environment; null if nobody does. Read once.
///
/// Errors   std::invalid_argument – the file cannot be read, and why
[[nodiscard]] replay_file const* requested_replay();

} // namespace quarry

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explorer.hpp"
#include "failure_folder.hpp"

#include <quarry/emu/explore.hpp>
#include <quarry/strategy.hpp>

#include <functional>

namespace quarry {

/// Errors   std::invalid_argument – a strategy that does not exist, or is exhaustive
[[nodiscard]] any_strategy strategy_of(explore_options const& options);

/// Runs executions that the strategy chooses, until one fails or options.executions have been run,
/// on options.jobs threads; the caller's is one of them, with `first`. They count in `into` as if
/// one had followed the other, up to the one that failed: what comes of it does not depend on who
/// was faster.
///
/// Errors   those of strategy_of(); std::system_error – no more threads
void sample(explore_options const& options, std::function<void(world&)> const& function,
            explorer& first, failure_folder& folder, verdict& into);

} // namespace quarry

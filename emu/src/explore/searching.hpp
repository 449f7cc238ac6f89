// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explorer.hpp"
#include "failure_folder.hpp"
#include "stretch.hpp"

#include <quarry/choices.hpp>
#include <quarry/emu/explore.hpp>

#include <functional>

namespace quarry {

/// Runs one execution, which no seed decides.
void run_chosen(explorer& worlds, chooser& choices, explore_options const& options, stretch& into);

/// Runs all executions there are within options.bounds, or those that reduction or hashing leaves,
/// until one fails or options.executions have been run. Those of a search that is neither reduced
/// nor hashed, on options.jobs threads; the caller's is one of them, with `first`. They count in
/// `into` as if one had followed the other, up to the first that failed, whoever was faster: unless
/// there are more than options.executions.
///
/// Errors   std::system_error – no more threads; std::logic_error – the world depends on more than
///          its choices
void search(explore_options const& options, std::function<void(world&)> const& function,
            explorer& first, failure_folder& folder, verdict& into);

} // namespace quarry

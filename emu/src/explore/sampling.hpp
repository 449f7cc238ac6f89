// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explorer.hpp"
#include "failure_folder.hpp"

#include <quarry/choice_record.hpp>
#include <quarry/emu/explore.hpp>

#include <atomic>
#include <cstdint>
#include <functional>

namespace quarry {

/// Runs executions that the strategy chooses, until one fails or options.executions have been run,
/// on options.jobs threads; the caller's is one of them, with `first`. They count in `into` as if
/// one had followed the other, up to the one that failed: what comes of it does not depend on who
/// was faster.
///
/// Errors   std::invalid_argument – a strategy that does not exist; std::system_error – no more
///          threads
void sample(explore_options const& options, std::function<void(world&)> const& function,
            explorer& first, failure_folder& folder, verdict& into);

/// Says so to who looks on.
inline void begin_execution(explore_options const& options) noexcept {
  if (options.begun != nullptr)
    options.begun->fetch_add(1, std::memory_order_relaxed);
}
/// One more execution, with this trace.
void count_execution(verdict& into, std::uint64_t trace_hash) noexcept;
/// Of the execution with this number that found it.
[[nodiscard]] exploration_failure make_failure(emu::explored_memory::finding const& found,
                                               std::uint64_t seed, std::uint64_t execution,
                                               recorder const& chosen);

} // namespace quarry

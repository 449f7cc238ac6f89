// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explorer.hpp"

#include <quarry/choice_record.hpp>
#include <quarry/emu/explore.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>

namespace quarry {

/// What executions came to that were run one after the other. A failure, or an error, is the last
/// one's; both are there if the world has thrown what is no failure of its own.
struct stretch {
  std::uint64_t executions = 0;
  std::uint64_t trace_hash = 0; ///< of all of them
  std::uint64_t repeated = 0;   ///< not run
  std::uint64_t inconclusive = 0;
  std::string busiest{};                        ///< in the last one of those
  std::uint64_t limited = 0;                    ///< in which a cache has left something out
  std::optional<exploration_failure> failure{}; ///< its execution is a number in this stretch
  std::string divergence{};                     ///< the first one
  std::exception_ptr error{};

  [[nodiscard]] bool has_ended() const noexcept { return failure || error; }
  /// One more execution, with this trace.
  void count(std::uint64_t trace_hash_of_it) noexcept;
  void count_inconclusive(std::string&& who);
  /// It was the last one.
  void fail(emu::explored_memory::finding const& found, std::uint64_t seed, recorder const& chosen);
  /// In a `catch (...)`: one more execution, and the last one, since the world has thrown what goes
  /// through.
  void fail_by_what_was_thrown(std::uint64_t seed, recorder const& chosen);
  /// Those that came after these.
  void append(stretch&& later);
  /// As the verdict of an exploration. Rethrows the error, when the verdict has the failure that
  /// may be beside it.
  void tell(verdict& into) &&;
};

/// Says so to who looks on.
inline void begin_execution(explore_options const& options) noexcept {
  if (options.begun != nullptr)
    options.begun->fetch_add(1, std::memory_order_relaxed);
}

/// No other one begins.
inline bool is_interrupted(explore_options const& options) noexcept {
  return options.interrupted != nullptr && options.interrupted->load(std::memory_order_relaxed);
}

} // namespace quarry

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choices.hpp>
#include <quarry/footprint.hpp>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace quarry {

/// A hash of what an execution has done so far, but for the order of steps that have nothing to do
/// with each other: of the state that it has come to, as far as anybody can tell.
///
/// A step is what one actor does from one choice of an actor to the next. It has to do with the
/// steps of its own actor and with those that footprint::has_to_do_with() says. Its hash is that of
/// its choices and of the steps before that it has to do with, and the sum over all steps does not
/// say in which order the others came.
///
/// Source   Musuvathi and Qadeer: Partial-order reduction for context-bounded state exploration,
///          MSR-TR-2007-12: happens-before graphs in the place of states
class trace_fingerprint {
public:
  /// Of an execution that has done nothing.
  void begin();
  /// A step of this actor ends the one before. Numbers are dense.
  void begin_step(std::uint32_t actor);
  /// Of the step that runs; of another one of the same actor, if it has ended.
  void add(effect const& e);
  void add_choice(unsigned n, unsigned taken) noexcept;
  /// The actor whose step runs; 0 before the first one.
  [[nodiscard]] std::uint32_t actor() const noexcept { return actor_; }

  /// Ends the step.
  [[nodiscard]] std::uint64_t value();

private:
  void end_step();

  // Of the step that runs
  bool is_running_ = false;
  std::uint32_t actor_ = 0;
  std::uint64_t choices_ = 0;
  footprint does_;

  // Of those before; a hash of a step stands for all that comes before it
  std::vector<std::uint64_t> last_of_actor_;
  std::unordered_map<std::uint64_t, std::uint64_t> last_of_word_;
  std::uint64_t last_of_any_ = 0;
  std::uint64_t published_ = 0; ///< sums
  std::uint64_t acquired_ = 0;
  std::uint64_t all_ = 0;
};

} // namespace quarry

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choices.hpp>
#include <quarry/random_bits.hpp>
#include <quarry/random_walk.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quarry {

/// The strategy of random priorities: the actor with the highest one runs, and at depth - 1 random
/// choices the one that would run falls behind all others.
///
/// An execution of n actors and k choices of actors shows a bug that takes `depth` orderings with a
/// probability of at least 1 / (n k^(depth-1)), if nobody runs for longer than `patience`. What
/// loads see and what is written back is a random walk's.
///
/// k is the greatest of the last executions' lengths, or any of them: a seed decides an execution
/// only together with those.
///
/// Fair: who yields, or has been chosen `patience` times since the last time, is put last.
///
/// Source   Burckhardt et al.: A randomized scheduler with probabilistic guarantees of finding
/// bugs,
///          ASPLOS'10; differs: fair
class pct final : public chooser {
public:
  struct options {
    unsigned depth = 3;
    /// None: every execution draws them. leave_percent is of messages alone.
    std::optional<choice_rates> rates{};
    /// For how many choices an actor may be the one chosen before it is put last.
    unsigned patience = 1000;
  };

  pct() : pct(options{}) {}
  /// Errors   std::invalid_argument – a depth or a patience of 0, a rate above 100 %
  explicit pct(options o) { use(o); }

  static constexpr std::string_view name() noexcept { return "pct"; }
  void begin(std::uint64_t seed);
  void end() noexcept { learn(step_); }
  /// "pct: depth 3, length 120, leaves 50 %, stale …"
  [[nodiscard]] std::string describe() const;

  /// From the next execution on.
  ///
  /// Errors   std::invalid_argument – a depth or a patience of 0, a rate above 100 %
  void use(options o);
  [[nodiscard]] options const& used() const noexcept { return options_; }

  /// Another strategy's execution had so many choices of actors.
  void learn(std::uint32_t length) noexcept;
  /// The k of this execution.
  [[nodiscard]] std::uint32_t expected_length() const noexcept { return length_; }

  unsigned pick(unsigned n, choice_kind kind) override { return walk_.pick(n, kind); }
  unsigned pick_actor(std::span<std::uint32_t const> ready) override;
  void on_yield(std::uint32_t actor) override;

private:
  /// Above 2^32 as drawn; 1 … depth - 1 after a change; 0 and below when put last.
  using priority = std::int64_t;
  struct change {
    std::uint32_t step;
    priority level;
  };
  static constexpr std::uint32_t first_length = 64; ///< before any is known

  unsigned highest(std::span<std::uint32_t const> ready);
  [[nodiscard]] std::uint32_t likely_length(random_bits& bits) const noexcept;
  void meet(std::uint32_t actor);
  void put_last(std::uint32_t actor) { set_level(actor, --last_); }
  void set_level(std::uint32_t actor, priority level);
  unsigned highest_after_changes(std::span<std::uint32_t const> ready, unsigned best);

  options options_;
  random_walk walk_;
  std::uint64_t key_ = 0;        ///< of the priorities, which do not depend on who is met first
  std::vector<priority> levels_; ///< by actor
  std::vector<std::uint32_t> chosen_; ///< by actor: how often, since its level was set
  std::vector<change> changes_;       ///< the ones to come, the next one last
  std::vector<std::uint32_t> seen_;   ///< the last of many ready, while no level has changed
  unsigned seen_best_ = 0;
  std::uint32_t next_change_ = 0;
  std::uint32_t step_ = 0;
  priority last_ = 0;

  std::array<std::uint32_t, 16> lengths_{}; ///< of the last executions, a ring
  std::size_t known_lengths_ = 0;
  std::uint32_t length_ = first_length;
};

// Implementation

inline unsigned pct::highest(std::span<std::uint32_t const> ready) {
  // Mostly the same actor goes on among the same: to compare costs less than to look.
  bool const are_many = ready.size() > 8;
  if (are_many && std::equal(ready.begin(), ready.end(), seen_.begin(), seen_.end()))
    return seen_best_;
  unsigned best = 0;
  priority highest = std::numeric_limits<priority>::min();
  for (unsigned i = 0; i < ready.size(); ++i) {
    if (ready[i] >= levels_.size()) [[unlikely]]
      meet(ready[i]);
    priority const level = levels_[ready[i]];
    best = level > highest ? i : best;
    highest = std::max(level, highest);
  }
  if (are_many) {
    seen_.assign(ready.begin(), ready.end());
    seen_best_ = best;
  }
  return best;
}

inline unsigned pct::pick_actor(std::span<std::uint32_t const> ready) {
  unsigned best = highest(ready);
  if (step_ == next_change_) [[unlikely]]
    best = highest_after_changes(ready, best);
  ++step_;
  while (++chosen_[ready[best]] > options_.patience) [[unlikely]] {
    put_last(ready[best]);
    best = highest(ready);
  }
  return best;
}

} // namespace quarry

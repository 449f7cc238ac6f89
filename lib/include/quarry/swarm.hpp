// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choices.hpp>
#include <quarry/pct.hpp>
#include <quarry/random_walk.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace quarry {

/// The strategy to begin with: every execution draws whether it is a random walk or PCT of depth 1
/// to 4, and its rates.
///
/// A seed decides an execution only together with the lengths of those before, as in pct.
///
/// Source   Groce et al.: Swarm testing, ISSTA'12; design §8
class swarm final : public chooser {
public:
  static constexpr unsigned greatest_depth = 4;

  static constexpr std::string_view name() noexcept { return "swarm"; }
  void begin(std::uint64_t seed);
  void end() noexcept { pct_.learn(actor_choices_); }
  /// What this execution drew.
  [[nodiscard]] std::string describe() const;

  /// The k of pct, of this execution.
  [[nodiscard]] std::uint32_t expected_length() const noexcept { return pct_.expected_length(); }

  unsigned pick(unsigned n, choice_kind kind) override {
    return is_pct_ ? pct_.pick(n, kind) : walk_.pick(n, kind);
  }
  unsigned pick_actor(std::span<std::uint32_t const> ready) override {
    ++actor_choices_;
    return is_pct_ ? pct_.pick_actor(ready) : walk_.pick_actor(ready);
  }
  void on_yield(std::uint32_t actor) override {
    return is_pct_ ? pct_.on_yield(actor) : walk_.on_yield(actor);
  }

private:
  bool is_pct_ = false;
  std::uint32_t actor_choices_ = 0;
  random_walk walk_;
  pct pct_;
};

} // namespace quarry

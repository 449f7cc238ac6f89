// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choices.hpp>
#include <quarry/footprint.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quarry {

/// What exhaustive_search does, but of executions that differ only in the order of steps that have
/// nothing to do with each other, one: depth first, by dynamic partial-order reduction with sleep
/// sets.
///
///     dpor_search search;
///     do {
///       search.begin();
///       …an execution that asks search for its choices and tells it all effects; it may end
///       early once search.is_redundant()…
///     } while (search.next());
///
/// What has to do with what: footprint::has_to_do_with(). Actors must share nothing but what their
/// effects tell. Somebody else goes on at a choice only where that turns round two such steps.
///
/// Shape    a few dozen bytes a step and actor; time grows with the square of an execution's steps
/// Source   Abdulla, Aronis, Jonsson and Sagonas: Optimal dynamic partial order reduction, POPL'14,
///          source sets (algorithm 1); sleep sets: Godefroid, LNCS 1032, chapter 5; differs: a step
///          goes from one choice of an actor to the next, and what it reads may be a choice, too
class dpor_search final : public chooser {
public:
  /// The first choice of the next execution follows.
  void begin();

  /// Errors   std::logic_error – n differs from what it was: the program depends on something else
  unsigned pick(unsigned n, choice_kind kind) override;
  unsigned pick_actor(std::span<std::uint32_t const> ready) override;
  [[nodiscard]] bool wants_effects() const noexcept override { return true; }
  void on_effect(std::uint32_t actor, effect const& e) override;
  void on_only(std::uint32_t actor) override;
  [[nodiscard]] bool is_redundant() const noexcept override { return is_redundant_; }

  /// Ends the execution; false if it was the last one.
  ///
  /// Errors   std::logic_error – it ended before the choices that it was to replay
  [[nodiscard]] bool next();
  /// It has no limit, as the other searches may have.
  [[nodiscard]] static constexpr bool is_bounded() noexcept { return false; }

  [[nodiscard]] std::uint64_t execution_count() const noexcept { return execution_count_; }
  /// Of those, the ones that came to nothing new.
  [[nodiscard]] std::uint64_t redundant_count() const noexcept { return redundant_count_; }

private:
  /// Whoever goes on next leads to nothing new, until somebody has to do with what it does.
  struct sleeper {
    std::uint32_t actor;
    footprint does;
  };
  struct choice {
    unsigned taken = 0;
    unsigned count = 0;
    std::vector<std::uint32_t> ready{}; ///< of an actor; empty: another choice
    std::vector<bool> is_wanted{};      ///< by `ready`: the first one, and who turns a race round
    std::vector<sleeper> asleep{};      ///< here, before the choice that is taken
    footprint step{};                   ///< of the actor that is taken, in all executions so far
  };
  /// What one actor does in this execution until it is somebody's turn again.
  struct step {
    std::uint32_t actor;
    std::size_t from; ///< the choice that began it; nobody: there was none
    footprint does{};
    std::vector<std::size_t> after{}; ///< by actor: so many steps from the first on, up to its last
                                      ///< one that happens before
  };

  unsigned follow(unsigned n);
  void begin_step(std::uint32_t actor, std::size_t from);
  [[nodiscard]] bool is_before(std::size_t earlier, step const& later) const noexcept;
  void order_after(step& later, std::size_t earlier) const;
  void turn_races_round();
  void turn_round(std::size_t first, std::size_t second);
  [[nodiscard]] std::vector<sleeper> still_asleep() const;
  [[nodiscard]] static bool is_in(std::vector<sleeper> const& those, std::uint32_t actor) noexcept;
  static bool take_next(choice& c);

  static constexpr std::size_t nobody = ~std::size_t{0};

  std::vector<choice> choices_;
  std::size_t replayed_ = 0;
  std::size_t position_ = 0;
  std::size_t last_ = nobody; ///< the choice of an actor that came last
  footprint all_;             ///< of everybody, since then
  std::vector<step> steps_;
  std::size_t first_new_ = 0; ///< the steps before are those of the execution before
  bool is_redundant_ = false;
  std::uint64_t execution_count_ = 0;
  std::uint64_t redundant_count_ = 0;
};

} // namespace quarry

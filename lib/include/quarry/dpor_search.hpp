// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choices.hpp>
#include <quarry/exhaustive.hpp>
#include <quarry/footprint.hpp>
#include <quarry/preemption_count.hpp>

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
/// With a limit of pre-emptions (context bound) it comes to whatever executions within the limit
/// come to: somebody else goes on also where it is free, before what the actor that is to be
/// pre-empted does in one go; and nobody sleeps, as what is known of a sleeper may have been cut
/// off by the limit.
///
/// Shape    a few dozen bytes a step and actor; time grows with an execution's steps times those
/// that
///          the execution before has not had
/// Source   Abdulla, Aronis, Jonsson and Sagonas: Optimal dynamic partial order reduction, POPL'14,
///          source sets (algorithm 1); sleep sets: Godefroid, LNCS 1032, chapter 5; differs: a step
///          goes from one choice of an actor to the next, and what it reads may be a choice, too;
///          Coons, Musuvathi and McKinley: Bounded partial-order reduction, OOPSLA'13, of the limit
class dpor_search final : public chooser {
public:
  dpor_search() : dpor_search(exhaustive_search::limits{}) {}
  /// Of deviations and states there is no limit: how many of them an execution has depends on the
  /// order of steps that have nothing to do with each other.
  explicit dpor_search(exhaustive_search::limits const& most)
      : most_preemptions_(most.preemptions), most_stale_(most.stale) {}

  /// The first choice of the next execution follows.
  void begin();

  /// Errors   std::logic_error – n differs from what it was: the program depends on something else
  unsigned pick(unsigned n, choice_kind kind) override;
  unsigned pick_actor(std::span<std::uint32_t const> ready) override;
  [[nodiscard]] bool wants_effects() const noexcept override { return true; }
  void on_effect(std::uint32_t actor, effect const& e) override;
  void on_only(std::uint32_t actor) override;
  void on_yield(std::uint32_t actor) override {
    preemptions_.on_yield(actor);
    yielded_ = actor;
  }
  [[nodiscard]] bool is_redundant() const noexcept override { return is_redundant_; }

  /// Ends the execution; false if it was the last one.
  ///
  /// Errors   std::logic_error – it ended before the choices that it was to replay
  [[nodiscard]] bool next();
  /// A limit was reached: there are executions that were not seen.
  [[nodiscard]] bool is_bounded() const noexcept { return has_held_back_; }

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
    unsigned end = 0; ///< of what is no actor: those from here on are beyond the limit
    std::vector<std::uint32_t> ready{}; ///< of an actor; empty: another choice
    std::vector<bool> is_wanted{};      ///< by `ready`: who goes first, and who turns a race round
    bool is_free = true;                ///< whoever goes on, it is no pre-emption
    bool can_preempt = true;            ///< or the limit allows one
    std::vector<sleeper> asleep{};      ///< here, before the choice that is taken, or taken before
    footprint step{};                   ///< of the actor that is taken, in all executions so far
  };
  /// What one actor does in this execution until it is somebody's turn again.
  struct step {
    std::uint32_t actor;
    std::size_t from;  ///< the choice that began it; nobody: there was none
    bool is_scheduled; ///< else it is what somebody does while another one runs
    footprint does{};
    std::vector<std::size_t> after{}; ///< by actor: so many steps from the first on, up to its last
                                      ///< one that happens before
  };

  unsigned follow(unsigned n);
  [[nodiscard]] bool is_limited() const noexcept {
    return most_preemptions_ != exhaustive_search::limits::unlimited;
  }
  [[nodiscard]] unsigned first_of(choice const& c) const;
  void begin_step(std::uint32_t actor, std::size_t from, bool is_scheduled);
  [[nodiscard]] bool is_before(std::size_t earlier, step const& later) const noexcept;
  void order_after(step& later, std::size_t earlier) const;
  void turn_races_round();
  void turn_round(std::size_t first, std::size_t second);
  void turn_round_within_limit(std::size_t second);
  void want(std::size_t choice, std::uint32_t actor);
  [[nodiscard]] std::vector<sleeper> still_asleep() const;
  [[nodiscard]] static bool is_in(std::vector<sleeper> const& those, std::uint32_t actor) noexcept;
  bool take_next(choice& c);

  static constexpr std::size_t nobody = ~std::size_t{0};

  std::uint32_t most_preemptions_;
  std::uint32_t most_stale_;
  std::uint32_t stale_ = 0; ///< of this execution so far
  preemption_count preemptions_;
  std::uint32_t yielded_ = 0; ///< since the last choice of an actor; 0: nobody has
  bool has_held_back_ = false;
  std::vector<choice> choices_;
  std::size_t replayed_ = 0;
  std::size_t position_ = 0;
  std::size_t last_ = nobody; ///< the choice of an actor that came last
  footprint all_;             ///< of everybody, since then
  std::vector<step> steps_;
  std::vector<step> steps_before_; ///< of the execution before
  std::size_t first_new_ = 0;      ///< the steps before are those of the execution before
  bool is_redundant_ = false;
  std::uint64_t execution_count_ = 0;
  std::uint64_t redundant_count_ = 0;
};

} // namespace quarry

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choices.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quarry {

/// What exhaustive_search does, but of executions that differ only in the order of steps that have
/// nothing to do with each other, one: depth first, with sleep sets.
///
///     sleep_set_search search;
///     do {
///       search.begin();
///       …an execution that asks search for its choices and tells it all effects; it may end
///       early once search.is_redundant()…
///     } while (search.next());
///
/// Two steps have to do with each other if they access the same word, if one acquires and the other
/// publishes, or if one of them may concern everybody. Actors must share nothing but what their
/// effects tell.
///
/// Source   Godefroid: Partial-order methods, LNCS 1032, chapter 5; differs: a step goes from one
///          choice of an actor to the next
class sleep_set_search final : public chooser {
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
  [[nodiscard]] bool next();

  [[nodiscard]] std::uint64_t execution_count() const noexcept { return execution_count_; }
  /// Of those, the ones that came to nothing new.
  [[nodiscard]] std::uint64_t redundant_count() const noexcept { return redundant_count_; }

private:
  /// What one or more steps have done.
  struct footprint {
    std::vector<std::uint64_t> words; ///< sorted
    bool publishes = false;
    bool acquires = false;
    bool is_any = false;

    void add(effect const& e);
    void add(footprint const& other);
    void clear() noexcept;
    [[nodiscard]] bool has_to_do_with(footprint const& other) const noexcept;
  };
  /// Whoever goes on next leads to nothing new, until somebody has to do with what it does.
  struct sleeper {
    std::uint32_t actor;
    footprint does;
  };
  struct choice {
    unsigned taken = 0;
    unsigned count = 0;
    std::vector<std::uint32_t> ready{}; ///< of an actor; empty: another choice
    std::vector<sleeper> asleep{};      ///< here, before the choice that is taken
    footprint step{};                   ///< of the actor that is taken, in all executions so far
  };

  unsigned follow(unsigned n);
  void end_step();
  [[nodiscard]] std::vector<sleeper> still_asleep() const;
  [[nodiscard]] static bool is_in(std::vector<sleeper> const& those, std::uint32_t actor) noexcept;
  static bool take_next(choice& c);

  static constexpr std::size_t nobody = ~std::size_t{0};

  std::vector<choice> choices_;
  std::size_t replayed_ = 0;
  std::size_t position_ = 0;
  std::size_t last_ = nobody; ///< the choice of an actor that the step which runs follows from
  footprint own_;             ///< of that actor, in this step
  footprint all_;             ///< of everybody, in this step
  bool is_redundant_ = false;
  std::uint64_t execution_count_ = 0;
  std::uint64_t redundant_count_ = 0;
};

} // namespace quarry

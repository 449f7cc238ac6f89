// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choices.hpp>
#include <quarry/exhaustive.hpp>
#include <quarry/trace_fingerprint.hpp>

#include <cstdint>
#include <span>

namespace quarry {

/// What exhaustive_search does, within its limits, but an execution is given up when it has come to
/// a state that has been seen: depth first, with a set of states. The program need not be able to
/// hash its state: executions that differ only in the order of steps that have nothing to do with
/// each other come to the same one (trace_fingerprint).
///
///     hashed_search search;
///     do {
///       search.begin();
///       …an execution that asks search for its choices and tells it all effects; it may end
///       early once search.is_redundant()…
///     } while (search.next());
///
/// Actors must share nothing but what their effects tell. With a limit of deviations or
/// pre-emptions a state counts as seen if it was come to with no more of them, the same actor ran
/// last, and the same ones are offered in the same order.
///
/// Shape    16 to 32 bytes a state, as in exhaustive_search
class hashed_search final : public chooser {
public:
  hashed_search() : hashed_search(exhaustive_search::limits{}) {}
  explicit hashed_search(exhaustive_search::limits most)
      : search_(most), limits_deviations_(most.deviations != most.unlimited),
        limits_preemptions_(most.preemptions != most.unlimited) {}

  /// The first choice of the next execution follows.
  void begin();

  /// Errors   std::logic_error – n differs from what it was: the program depends on something else
  unsigned pick(unsigned n, choice_kind kind) override;
  unsigned pick_actor(std::span<std::uint32_t const> ready) override;
  [[nodiscard]] bool wants_effects() const noexcept override { return true; }
  void on_effect(std::uint32_t actor, effect const& e) override;
  void on_only(std::uint32_t actor) override {
    search_.on_only(actor);
    steps_.begin_step(actor);
  }
  void on_yield(std::uint32_t actor) override { search_.on_yield(actor); }
  [[nodiscard]] bool is_redundant() const noexcept override { return is_redundant_; }

  /// Ends the execution; false if it was the last one, or the limit was reached.
  ///
  /// Errors   std::logic_error – it ended before the choices that it was to replay
  [[nodiscard]] bool next() { return search_.next(); }

  /// A limit was reached: there are executions that were not seen.
  [[nodiscard]] bool is_bounded() const noexcept { return search_.is_bounded(); }
  [[nodiscard]] std::uint64_t state_count() const noexcept { return search_.state_count(); }
  [[nodiscard]] std::uint64_t execution_count() const noexcept { return search_.execution_count(); }
  /// Of those, the ones that were given up.
  [[nodiscard]] std::uint64_t redundant_count() const noexcept { return redundant_count_; }

private:
  [[nodiscard]] bool is_new(std::span<std::uint32_t const> ready);

  exhaustive_search search_;
  trace_fingerprint steps_;
  bool limits_deviations_;
  bool limits_preemptions_;
  bool is_redundant_ = false;
  std::uint64_t redundant_count_ = 0;
};

} // namespace quarry

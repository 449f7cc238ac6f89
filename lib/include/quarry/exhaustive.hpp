// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choices.hpp>
#include <quarry/preemption_count.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quarry {

/// Every execution of a small program, depth first, by re-execution.
///
///     exhaustive_search search;
///     do {
///       search.begin();
///       while (not at the end and (search.is_replaying() or search.is_new(hash of the state)))
///         …a step that asks search.pick() for its choices…
///     } while (search.next());
///
/// An execution replays the choices of the one before up to the last that has an alternative left,
/// takes that, and goes on with 0. It may end early where is_new() says that everything that can
/// follow has been seen, or will be: that prunes, and ends loops that wait. The program must depend
/// on nothing but the choices.
///
/// Shape    16 to 32 bytes a state; two of 2^20 states are mistaken for each other with a
///          probability of 2^-25
/// Source   design §8; delay bounding: Emmi et al., POPL'11, differs: caches' choices count, too;
///          context bounding: Musuvathi and Qadeer, PLDI'07
class exhaustive_search final : public chooser {
public:
  struct limits {
    std::uint64_t states = ~std::uint64_t{0}; ///< distinct ones, then it is bounded
    /// Choices of an execution that are not 0, then the rest are 0: somebody else goes on than the
    /// one that ran last, or than the next in the scheduler's queue; what counts as stale.
    std::uint32_t deviations = unlimited;
    /// Of an execution: preemption_count. Who goes on where the actor that ran last cannot, what
    /// loads see and when writes arrive is free.
    std::uint32_t preemptions = unlimited;
    /// Of an execution: loads that do not see the newest value, writes and messages that are late.
    std::uint32_t stale = unlimited;

    static constexpr std::uint32_t unlimited = ~std::uint32_t{0};
  };

  exhaustive_search() : exhaustive_search(limits{}) {}
  explicit exhaustive_search(limits most);

  /// The first choice of the next execution follows.
  void begin();

  /// Errors   std::logic_error – n differs from what it was: the program depends on something else
  unsigned pick(unsigned n, choice_kind kind) override;
  unsigned pick_actor(std::span<std::uint32_t const> ready) override;
  void on_only(std::uint32_t actor) override { preemptions_.on_only(actor); }
  void on_yield(std::uint32_t actor) override { preemptions_.on_yield(actor); }
  /// Of on_only().
  [[nodiscard]] bool wants_effects() const noexcept override {
    return most_.preemptions != limits::unlimited;
  }

  /// Whether the state that the execution has come to must be followed. True while choices are
  /// replayed; beyond them only once for each hash, and never again when the limit is reached.
  ///
  /// Equal hashes must mean equal futures: hash whatever decides what can still happen.
  [[nodiscard]] bool is_new(std::uint64_t state_hash);
  /// Whether is_new() has been asked about this hash beyond the replayed choices.
  [[nodiscard]] bool has_seen(std::uint64_t state_hash) const {
    return states_.contains(state_hash);
  }
  /// The choices up to here were those of the execution before: is_new() is true, whatever the
  /// hash.
  [[nodiscard]] bool is_replaying() const noexcept { return position_ < replayed_; }

  /// Ends the execution; false if it was the last one, or the limit was reached.
  ///
  /// Errors   std::logic_error – it ended before the choices that it was to replay
  [[nodiscard]] bool next();

  /// After next() has given true: gives some of the executions that are left to another search,
  /// which has not begun yet. They come after those that this one keeps, which are one or more.
  /// False: it has to keep all. Not where is_new() is asked: neither knows what the other has seen.
  [[nodiscard]] bool split(exhaustive_search& others);

  /// A limit was reached: there are executions that were not seen.
  [[nodiscard]] bool is_bounded() const noexcept { return is_bounded_ || has_held_back_; }
  [[nodiscard]] std::uint64_t state_count() const noexcept { return states_.size(); }
  /// Executions begun; those that is_new() ended are among them.
  [[nodiscard]] std::uint64_t execution_count() const noexcept { return execution_count_; }
  [[nodiscard]] std::uint64_t pruned_count() const noexcept { return pruned_count_; }
  /// Choices of this execution so far that are not 0.
  [[nodiscard]] std::uint32_t deviation_count() const noexcept { return deviations_; }
  /// Whoever of these goes on, it is no pre-emption.
  [[nodiscard]] bool is_free(std::span<std::uint32_t const> ready) const noexcept {
    return preemptions_.is_free(ready);
  }
  [[nodiscard]] std::uint32_t preemption_count() const noexcept { return preemptions_.value(); }

private:
  struct choice {
    unsigned taken;
    unsigned count;
    unsigned end; ///< those from here on are beyond the limit
  };

  /// A set of hashes: open addressing, at most half full.
  class hash_set {
  public:
    /// It must be new.
    void insert(std::uint64_t hash);
    [[nodiscard]] bool contains(std::uint64_t hash) const;
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  private:
    [[nodiscard]] std::size_t slot_of(std::uint64_t hash) const;
    void grow();

    std::vector<std::uint64_t> slots_; ///< 0: free
    bool has_zero_ = false;
    std::uint64_t size_ = 0;
  };

  unsigned choose(unsigned n, bool may_deviate);

  limits most_;
  std::vector<choice> choices_;
  std::size_t replayed_ = 0; ///< choices that were decided before the execution began
  std::size_t position_ = 0;
  hash_set states_;
  std::uint64_t execution_count_ = 0;
  std::uint64_t pruned_count_ = 0;
  bool is_bounded_ = false;      ///< by states
  bool has_held_back_ = false;   ///< alternatives, by the other limits
  std::uint32_t deviations_ = 0; ///< of this execution so far
  std::uint32_t stale_ = 0;      ///< of those, what is not about actors
  quarry::preemption_count preemptions_;
};

} // namespace quarry

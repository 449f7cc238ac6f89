// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choices.hpp>

#include <cstddef>
#include <cstdint>
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
/// Source   design §8; delay bounding: Emmi et al., POPL'11, differs: caches' choices count, too
class exhaustive_search final : public chooser {
public:
  struct limits {
    std::uint64_t states = ~std::uint64_t{0}; ///< distinct ones, then it is bounded
    /// Choices of an execution that are not 0, then the rest are 0: pre-emptions, stale values,
    /// late writes. Who goes on where the actor that ran last cannot is free.
    std::uint32_t deviations = ~std::uint32_t{0};
  };

  exhaustive_search() : exhaustive_search(limits{}) {}
  explicit exhaustive_search(limits most);

  /// The first choice of the next execution follows.
  void begin();

  /// Errors   std::logic_error – n differs from what it was: the program depends on something else
  unsigned pick(unsigned n, choice_kind kind) override;

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

  /// A limit was reached: there are executions that were not seen.
  [[nodiscard]] bool is_bounded() const noexcept { return is_bounded_ || has_held_back_; }
  [[nodiscard]] std::uint64_t state_count() const noexcept { return states_.size(); }
  /// Executions begun; those that is_new() ended are among them.
  [[nodiscard]] std::uint64_t execution_count() const noexcept { return execution_count_; }
  [[nodiscard]] std::uint64_t pruned_count() const noexcept { return pruned_count_; }
  /// Choices of this execution so far that are not 0.
  [[nodiscard]] std::uint32_t deviation_count() const noexcept { return deviations_; }

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

  limits most_;
  std::vector<choice> choices_;
  std::size_t replayed_ = 0; ///< choices that were decided before the execution began
  std::size_t position_ = 0;
  hash_set states_;
  std::uint64_t execution_count_ = 0;
  std::uint64_t pruned_count_ = 0;
  bool is_bounded_ = false;      ///< by states
  bool has_held_back_ = false;   ///< alternatives, by deviations
  std::uint32_t deviations_ = 0; ///< of this execution so far
};

} // namespace quarry

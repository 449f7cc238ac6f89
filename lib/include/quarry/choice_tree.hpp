// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choices.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace quarry {

/// What executions that have been run asked for, after which answers, and how they ended: one whose
/// answers have all been given before, one after the other, need not be run again.
///
/// Stands between a strategy and the executions. Up to an execution's last choice the strategy is
/// asked the same, in the same order, as if it were run: what it has learnt afterwards, and which
/// executions come next, is the same.
///
/// Shape    remembers executions of up to `most_choices` choices, while they fit into
///          `most_bytes`; gives itself up where hardly any execution comes twice
class choice_tree final : public chooser {
public:
  struct options {
    std::size_t most_choices = 64;
    std::size_t most_bytes = std::size_t{1} << 25; // some 30 a choice
    /// Of so many executions that are known one is run nonetheless, and more of the first ones: was
    /// it the same again?
    std::uint64_t known_per_check = 1'000;
    /// After so many that were run: were there known ones, too?
    std::uint64_t runs_per_review = 1'024;
  };

  /// `by` answers, and does not want effects. Borrowed.
  ///
  /// Shape    known_per_check and runs_per_review at least 1; most_bytes less than 2^33
  explicit choice_tree(chooser& by) : choice_tree(by, options{}) {}
  choice_tree(chooser& by, options const& o);

  /// After the strategy has begun an execution: asks it what the execution would. The trace hash
  /// that the execution ends with, if that is known; otherwise it is to be run, with this chooser.
  [[nodiscard]] std::optional<std::uint64_t> foresee();
  /// The execution that was run has come to its end, which is the same whenever its choices are; or
  /// (no hash) to none that could be known: it was cut off.
  void end(std::optional<std::uint64_t> trace_hash);
  /// Other worlds from now on.
  void forget();

  /// The same answers did not lead to the same questions, or not to the same end: something decides
  /// that is no choice. Says where; empty: that has not been seen. From then on everything is run.
  [[nodiscard]] std::string const& divergence() const noexcept { return divergence_; }

  unsigned pick(unsigned n, choice_kind kind) override {
    return is_kept_ ? answer(n, kind, {}) : by_.pick(n, kind);
  }
  unsigned pick_actor(std::span<std::uint32_t const> ready) override {
    return is_kept_ ? answer(static_cast<unsigned>(ready.size()), choice_kind::actor, ready)
                    : by_.pick_actor(ready);
  }
  void on_yield(std::uint32_t actor) override;

private:
  /// Index of a question or, with the highest bit, of an end; 0: nobody has been there.
  using link = std::uint32_t;
  static constexpr link nowhere = 0;
  static constexpr link is_end = 1U << 31;

  /// A question's first word. Then come a link for each of n answers, those who yielded since the
  /// question before and, if it was asked by their numbers, those ready. An end is the two words of
  /// its hash.
  struct header {
    std::uint32_t n : 16;
    std::uint32_t yields : 12;
    std::uint32_t kind : 3;
    std::uint32_t has_numbers : 1;
  };
  static_assert(sizeof(header) == sizeof(std::uint32_t) && choice_kind_count <= 8);
  static constexpr std::uint32_t most_answers = 0xffff;
  static constexpr std::uint32_t most_yields = 0xfff;

  /// Until the next one is added.
  struct question {
    header what;
    std::uint32_t first_link;
    std::span<std::uint32_t const> yields;
    std::span<std::uint32_t const> ready;
    [[nodiscard]] choice_kind kind() const noexcept { return static_cast<choice_kind>(what.kind); }
  };
  [[nodiscard]] question question_at(link l) const noexcept;
  [[nodiscard]] std::uint64_t hash_at(link end) const noexcept;

  unsigned answer(unsigned n, choice_kind kind, std::span<std::uint32_t const> ready);
  unsigned answer_again(unsigned n, choice_kind kind, std::span<std::uint32_t const> ready);
  unsigned ask(unsigned n, choice_kind kind, std::span<std::uint32_t const> ready) {
    return ready.empty() ? by_.pick(n, kind) : by_.pick_actor(ready);
  }
  [[nodiscard]] static bool is_question(link l) noexcept {
    return l != nowhere && (l & is_end) == 0;
  }
  [[nodiscard]] bool has_room(unsigned n) const noexcept;
  std::uint32_t add(unsigned n, choice_kind kind, std::span<std::uint32_t const> ready);
  void review();
  void give_up();
  void diverge(std::string how);

  chooser& by_;
  options options_;
  /// The first word is the link to the first question. What an execution has added lies together.
  std::vector<std::uint32_t> words_;
  std::uint64_t known_ = 0; ///< executions
  std::uint64_t runs_ = 0;
  std::uint64_t known_at_review_ = 0;
  std::uint64_t runs_at_review_ = 0;
  bool is_given_up_ = false;
  std::string divergence_;

  // Of the execution that runs
  std::vector<unsigned> foreseen_;    ///< answers
  std::size_t given_ = 0;             ///< of those: the execution has asked for them
  std::size_t depth_ = 0;             ///< answers that it has had
  std::uint32_t again_ = 0;           ///< the link to the next one that was foreseen
  std::uint32_t at_ = 0;              ///< the link after those
  bool is_kept_ = false;              ///< all its answers so far are, or will be, in the tree
  std::vector<std::uint32_t> yields_; ///< since its last answer
};

} // namespace quarry

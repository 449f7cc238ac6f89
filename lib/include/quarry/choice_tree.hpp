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
/// Stands between a strategy and the executions. The strategy is asked the same, in the same order,
/// as if every execution were run: what it has learnt afterwards, and which executions come next,
/// is the same.
///
/// Shape    remembers executions of up to `most_choices` choices, up to `most_nodes` different
///          ones all together; gives itself up where hardly any execution comes twice
class choice_tree final : public chooser {
public:
  struct options {
    std::size_t most_choices = 64;
    std::size_t most_nodes = std::size_t{1} << 18;
    /// Of so many executions that are known one is run nonetheless, and more of the first ones: was
    /// it the same again?
    std::uint64_t known_per_check = 1'000;
    /// After so many that were run: were there known ones, too?
    std::uint64_t runs_per_review = 1'024;
  };

  /// `by` answers, and does not want effects. Borrowed.
  explicit choice_tree(chooser& by) : choice_tree(by, options{}) {}
  choice_tree(chooser& by, options const& o);

  /// After the strategy has begun an execution: asks it what the execution would. The trace hash
  /// that the execution ends with, if that is known; otherwise it is to be run, with this chooser.
  [[nodiscard]] std::optional<std::uint64_t> foresee();
  /// The execution that was run has come to its end. To be called for one that would come to the
  /// same end again, whatever was not chosen.
  void keep(std::uint64_t trace_hash);
  /// Other worlds from now on.
  void forget();

  /// The same answers did not lead to the same questions, or not to the same end: something decides
  /// that is no choice. Says where; empty: that has not been seen. From then on everything is run.
  [[nodiscard]] std::string const& divergence() const noexcept { return divergence_; }

  unsigned pick(unsigned n, choice_kind kind) override { return answer(n, kind, {}); }
  unsigned pick_actor(std::span<std::uint32_t const> ready) override {
    return answer(static_cast<unsigned>(ready.size()), choice_kind::actor, ready);
  }
  void on_yield(std::uint32_t actor) override;

private:
  using link = std::uint32_t; ///< where an answer leads: nowhere yet, to a node, or to an end
  static constexpr link nowhere = 0;
  static constexpr link is_end = 1U << 31; ///< of ends_; otherwise of nodes_, from 1 on

  /// A question, and who had yielded since the one before.
  struct node {
    std::uint32_t first_link;   ///< of n, in links_
    std::uint32_t first_number; ///< in numbers_: of those who yielded, then of those ready
    std::uint32_t n;
    std::uint32_t yields;
    choice_kind kind;
  };

  [[nodiscard]] std::span<std::uint32_t const> yields_of(node const& at) const {
    return std::span(numbers_).subspan(at.first_number, at.yields);
  }
  [[nodiscard]] std::span<std::uint32_t const> ready_of(node const& at) const {
    return std::span(numbers_).subspan(at.first_number + at.yields,
                                       at.kind == choice_kind::actor ? at.n : 0);
  }
  unsigned answer(unsigned n, choice_kind kind, std::span<std::uint32_t const> ready);
  unsigned answer_again(unsigned n, choice_kind kind, std::span<std::uint32_t const> ready);
  unsigned ask(unsigned n, choice_kind kind, std::span<std::uint32_t const> ready) {
    return kind == choice_kind::actor ? by_.pick_actor(ready) : by_.pick(n, kind);
  }
  [[nodiscard]] bool is_node(link l) const noexcept { return l != nowhere && (l & is_end) == 0; }
  std::uint32_t add(unsigned n, choice_kind kind, std::span<std::uint32_t const> ready);
  void review();
  void give_up();
  void diverge(std::string how);

  chooser& by_;
  options options_;
  std::vector<node> nodes_;
  std::vector<link> links_; ///< the first one leads to the first question
  std::vector<std::uint32_t> numbers_;
  std::vector<std::uint64_t> ends_; ///< trace hashes
  std::uint64_t known_ = 0;         ///< executions
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
  bool is_kept_ = false;              ///< all its answers so far are in the tree
  std::vector<std::uint32_t> yields_; ///< since its last answer
};

} // namespace quarry

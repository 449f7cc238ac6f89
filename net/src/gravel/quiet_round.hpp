// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quarry::net::gravel {

/// Who has answered a quiet(): this node's aggregators, that they have sent all that they had; then
/// every other node, that it has applied it.
class quiet_round {
public:
  quiet_round(std::size_t aggregators, std::uint32_t nodes, std::uint32_t self)
      : aggregators_(aggregators), nodes_(nodes), self_(self) {}

  /// One more aggregator answers the quiet() of that number. True if it is the last one: from now
  /// on nodes may answer.
  [[nodiscard]] bool aggregator_answers(std::uint64_t number) {
    if (++quiet_aggregators_ != aggregators_)
      return false;
    quiet_aggregators_ = 0;
    number_ = number;
    unanswered_ = nodes_ - 1;
    answered_.assign(nodes_, false);
    answered_[self_] = true;
    return true;
  }
  /// False if it has not been asked, or not with that number, or has answered already.
  [[nodiscard]] bool node_answers(std::uint32_t node, std::uint64_t number) {
    if (number != number_ || unanswered_ == 0 || answered_[node])
      return false;
    answered_[node] = true;
    --unanswered_;
    return true;
  }

  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// Does it wait for nodes?
  [[nodiscard]] bool is_waiting() const noexcept { return unanswered_ != 0; }
  [[nodiscard]] bool has_answered(std::uint32_t node) const { return answered_[node]; }

private:
  std::size_t aggregators_;
  std::uint32_t nodes_;
  std::uint32_t self_;
  std::size_t quiet_aggregators_ = 0;
  std::uint64_t number_ = 0;     ///< of the last round
  std::uint32_t unanswered_ = 0; ///< nodes; none between rounds
  std::vector<bool> answered_;   ///< by node
};

} // namespace quarry::net::gravel

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explorer.hpp"

#include <quarry/choice_tree.hpp>
#include <quarry/strategy.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace quarry {

/// Executions of one explorer whose choices a strategy draws. One that would be the same as an
/// earlier one is not run.
class drawn_executions {
public:
  drawn_executions(explorer& worlds, any_strategy strategy, explore_options const& o)
      : worlds_(worlds), strategy_(std::move(strategy)), tree_(strategy_.choices()),
        runs_repeated_(o.runs_repeated) {}

  /// Calls before_run() and runs the execution, unless it is known to come to its end without a
  /// failure.
  template<class BeforeRun>
  std::optional<explorer::result> run(std::uint64_t seed, BeforeRun const& before_run) {
    strategy_.begin(seed);
    if (!runs_repeated_)
      if (auto const known = tree_.foresee()) {
        strategy_.end();
        trace_hash_ = *known;
        worlds_.pass_over();
        return std::nullopt;
      }
    before_run();
    worlds_.note_seed(seed);
    auto r = runs_repeated_ ? worlds_.run(strategy_.choices()) : worlds_.run(tree_);
    strategy_.end();
    trace_hash_ = worlds_.chosen().trace_hash();
    if (!runs_repeated_ && !r.finding)
      tree_.end(r.is_cut || r.is_beyond ? std::nullopt : std::optional(trace_hash_));
    return r;
  }
  /// Of the last execution.
  [[nodiscard]] std::uint64_t trace_hash() const noexcept { return trace_hash_; }
  /// Those to come are of another world.
  void forget() { tree_.forget(); }
  /// Not empty: the same choices have led to different executions.
  [[nodiscard]] std::string const& divergence() const noexcept { return tree_.divergence(); }

private:
  explorer& worlds_;
  any_strategy strategy_;
  choice_tree tree_;
  bool runs_repeated_;
  std::uint64_t trace_hash_ = 0;
};

} // namespace quarry

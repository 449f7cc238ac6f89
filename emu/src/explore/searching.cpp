// SPDX-License-Identifier: Apache-2.0
#include "searching.hpp"

#include "jobs.hpp"

#include <quarry/dpor_search.hpp>
#include <quarry/exhaustive.hpp>
#include <quarry/hashed_search.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

namespace quarry {

void run_chosen(explorer& worlds, chooser& choices, explore_options const& options, stretch& into) {
  begin_execution(options);
  recorder const& chosen = worlds.chosen();
  explorer::result r;
  try {
    r = worlds.run(choices);
  } catch (std::exception const&) { // not the world's
    throw;
  } catch (...) {
    return into.fail_by_what_was_thrown(0, chosen);
  }
  into.count(chosen.trace_hash());
  into.limited += r.has_left_out ? 1 : 0;
  if (r.is_cut || (r.is_beyond && !options.replays)) {
    if (!choices.is_redundant() || r.is_beyond)
      into.count_inconclusive(std::move(r.busiest));
  } else if (r.finding) {
    into.fail(*r.finding, 0, chosen);
  }
}

namespace {

using limits = exhaustive_search::limits;

limits limits_of(search_bounds const& b) noexcept {
  return {.deviations = b.deviations.value_or(limits::unlimited),
          .preemptions = b.preemptions.value_or(limits::unlimited),
          .stale = b.stale.value_or(limits::unlimited)};
}

/// `is_left`: there are executions that were not run. `is_bounded`: the bounds have left some out.
void tell_end(explore_options const& options, bool is_left, bool is_bounded, verdict& into) {
  bool const is_at_limit = into.executions >= options.executions;
  into.is_interrupted = is_left && !is_at_limit && is_interrupted(options);
  into.is_cut_short = is_left && !into.failure && !into.is_interrupted;
  bool const is_done = !is_left && into.inconclusive == 0 && into.limited == 0;
  into.is_complete = is_done && !is_bounded;
  if (is_done && is_bounded)
    into.is_complete_up_to = options.bounds;
}

/// By one that knows what the executions before have come to.
template<class Search>
void search_in_order(limits const& most, explore_options const& options, explorer& worlds,
                     failure_folder& folder, verdict& into) {
  Search all(most);
  stretch sum;
  bool is_left = true;
  while (is_left && sum.executions < options.executions && !sum.failure &&
         !is_interrupted(options)) {
    folder.begin(0, sum.executions + 1);
    all.begin();
    run_chosen(worlds, all, options, sum);
    is_left = all.next();
  }
  into.redundant = all.redundant_count();
  std::move(sum).tell(into);
  tell_end(options, is_left, all.is_bounded(), into);
}

/// Some executions that follow each other, and what those came to that have been run.
struct branch {
  explicit branch(limits const& most = {}) : search(most) {}

  exhaustive_search search;
  stretch sum{};
  enum class state : std::uint8_t { waits, is_searched, is_done } now = state::waits;
  bool is_left = true; ///< some have not been run
  bool is_bounded = false;
  std::atomic<bool> is_wanted{true}; ///< none before them has failed
};

/// All executions, as branches in their order. A job searches one, and gives a part of what is left
/// of it to another job that has nothing to do.
class tree {
public:
  using place = std::list<branch>::iterator;

  tree(limits const& most, std::uint64_t most_executions)
      : most_executions_(most_executions), left_(most_executions) {
    branches_.emplace_back(most);
  }

  /// The first branch that nobody has searched; waits for one. Nothing: there will be none.
  [[nodiscard]] std::optional<place> take() {
    std::unique_lock lock(mutex_);
    auto found = first_waiting();
    for (; found == branches_.end() && searching_ != 0; found = first_waiting()) {
      ++idle_;
      tell_hunger();
      changed_.wait(lock);
      --idle_;
    }
    tell_hunger();
    if (found == branches_.end())
      return std::nullopt;
    found->now = branch::state::is_searched;
    ++searching_;
    return found;
  }
  /// The number of the branch's next execution, in the order in which they begin; 0: it is not to
  /// be run.
  [[nodiscard]] std::uint64_t begin(branch const& b) noexcept {
    if (!b.is_wanted.load(std::memory_order_relaxed))
      return 0;
    std::uint64_t left = left_.load(std::memory_order_relaxed);
    while (left != 0 && !left_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
    }
    return left == 0 ? 0 : most_executions_ - left + 1;
  }
  /// Between two executions of the branch.
  void share(place of) {
    if (!is_hungry_.load(std::memory_order_relaxed))
      return;
    std::lock_guard const lock(mutex_);
    if (!is_hungry_.load(std::memory_order_relaxed) || !of->is_wanted)
      return;
    auto const others = branches_.emplace(std::next(of));
    if (!of->search.split(others->search))
      return static_cast<void>(branches_.erase(others));
    tell_hunger();
    changed_.notify_one();
  }
  /// Nobody searches the branch any more.
  void finish(place p) {
    std::lock_guard const lock(mutex_);
    --searching_;
    p->now = branch::state::is_done;
    p->is_bounded = p->search.is_bounded();
    if (!p->is_wanted) {
      branches_.erase(p);
    } else if (p->sum.has_ended() && std::next(p) != branches_.end()) {
      p->is_left = true;
      forget_from(std::next(p));
    }
    join_those_done();
    changed_.notify_all();
  }
  /// Nothing more is wanted, and nothing counts.
  void give_up(std::exception_ptr why) {
    std::lock_guard const lock(mutex_);
    error_ = std::move(why);
    forget_from(branches_.begin());
    changed_.notify_all();
  }
  /// After all jobs.
  void tell(explore_options const& options, verdict& into) && {
    if (error_)
      std::rethrow_exception(error_);
    branch& all = branches_.front(); // there is one left
    std::move(all.sum).tell(into);
    tell_end(options, all.is_left, all.is_bounded, into);
  }

private:
  [[nodiscard]] place first_waiting() {
    return std::find_if(branches_.begin(), branches_.end(),
                        [](branch const& b) { return b.now == branch::state::waits; });
  }
  void tell_hunger() {
    is_hungry_.store(
        idle_ > std::count_if(branches_.begin(), branches_.end(),
                              [](branch const& b) { return b.now == branch::state::waits; }),
        std::memory_order_relaxed);
  }
  void forget_from(place p) {
    while (p != branches_.end())
      if (p->now == branch::state::is_searched)
        (p++)->is_wanted.store(false, std::memory_order_relaxed);
      else
        p = branches_.erase(p);
  }
  void join_those_done() {
    for (auto p = branches_.begin(); p != branches_.end();) {
      auto const next = std::next(p);
      if (next == branches_.end() || p->now != branch::state::is_done ||
          next->now != branch::state::is_done) {
        p = next;
        continue;
      }
      p->sum.append(std::move(next->sum));
      p->is_left |= next->is_left;
      p->is_bounded |= next->is_bounded;
      branches_.erase(next);
    }
  }

  std::uint64_t const most_executions_;
  std::atomic<std::uint64_t> left_;    ///< executions that may begin
  std::atomic<bool> is_hungry_{false}; ///< more jobs wait than branches do
  std::mutex mutex_;                   ///< guards what follows
  std::condition_variable changed_;
  std::list<branch> branches_;
  std::ptrdiff_t idle_ = 0; ///< jobs that wait for a branch
  unsigned searching_ = 0;
  std::exception_ptr error_;
};

void search_branches(tree& all, unsigned job, explore_options const& options, explorer& worlds,
                     failure_folder& folder) {
  while (auto const taken = all.take()) {
    branch& b = **taken;
    try {
      while (b.is_left && !b.sum.failure && !is_interrupted(options)) {
        std::uint64_t const number = all.begin(b);
        if (number == 0)
          break;
        folder.begin(job, number);
        b.search.begin();
        run_chosen(worlds, b.search, options, b.sum);
        b.is_left = b.search.next();
        if (b.is_left)
          all.share(*taken);
      }
    } catch (...) {
      b.sum.error = std::current_exception();
    }
    all.finish(*taken);
  }
}

} // namespace

void search(explore_options const& options, std::function<void(world&)> const& function,
            explorer& first, failure_folder& folder, verdict& into) {
  limits const most = limits_of(options.bounds);
  if (options.reduces)
    return search_in_order<dpor_search>(most, options, first, folder, into);
  if (options.hashes_states)
    return search_in_order<hashed_search>(most, options, first, folder, into);
  tree all(most, options.executions);
  run_jobs(
      options, function, first, options.jobs,
      [&](unsigned number, explorer& worlds) {
        search_branches(all, number, options, worlds, folder);
      },
      [&](std::exception_ptr why) { all.give_up(std::move(why)); });
  std::move(all).tell(options, into);
}

} // namespace quarry

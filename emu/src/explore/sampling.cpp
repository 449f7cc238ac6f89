// SPDX-License-Identifier: Apache-2.0
#include "sampling.hpp"

#include "drawn_executions.hpp"
#include "jobs.hpp"
#include "stretch.hpp"

#include <quarry/in_quotes.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace quarry {
namespace {

/// The stretches of all jobs, in the order of their numbers.
class tally {
public:
  /// False: the exploration ends before this stretch.
  [[nodiscard]] bool wants(std::uint64_t number) const noexcept {
    return number < end_.load(std::memory_order_relaxed);
  }
  void add(std::uint64_t number, stretch&& s) {
    std::lock_guard const lock(mutex_);
    if (s.has_ended())
      end_at(number + 1);
    waiting_.emplace(number, std::move(s));
    for (auto next = waiting_.begin();
         next != waiting_.end() && next->first == counted_ && wants(counted_);
         next = waiting_.erase(next), ++counted_)
      all_.append(std::move(next->second));
  }
  /// Nothing more is wanted, and nothing counts.
  void give_up(std::exception_ptr why) {
    std::lock_guard const lock(mutex_);
    all_.error = std::move(why);
    end_at(0);
  }
  /// After all jobs. If they were interrupted, stretches are missing.
  void tell(verdict& into) && {
    for (auto& [number, later] : waiting_)
      if (wants(number) && !all_.has_ended())
        all_.append(std::move(later));
    std::move(all_).tell(into);
  }

private:
  void end_at(std::uint64_t number) noexcept {
    end_.store(std::min(number, end_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> end_{~std::uint64_t{0}};
  std::mutex mutex_;
  std::map<std::uint64_t, stretch> waiting_; ///< for the ones before them
  std::uint64_t counted_ = 0;
  stretch all_;
};

/// One thread's part: every jobs-th stretch. A strategy learns from the executions of its own job
/// alone, so that nobody's choices depend on how fast the others are.
class job {
public:
  job(explore_options const& o, unsigned number, explorer& worlds, failure_folder& folder,
      tally& all)
      : options_(o), number_(number), worlds_(worlds), folder_(folder), all_(all),
        executions_(worlds, strategy_of(o), o) {}

  void run() {
    for (std::uint64_t s = number_; may_go_on(s) && s * length < options_.executions;
         s += options_.jobs)
      all_.add(s, run_stretch(s));
  }

  static constexpr std::uint64_t length = 16; ///< executions of a stretch

private:
  [[nodiscard]] bool may_go_on(std::uint64_t number) const noexcept {
    return all_.wants(number) && !is_interrupted(options_);
  }
  /// One that is no longer wanted while it runs ends early: it will not count.
  [[nodiscard]] stretch run_stretch(std::uint64_t number) {
    stretch s;
    std::uint64_t const begin = number * length;
    std::uint64_t const end = std::min(begin + length, options_.executions);
    try {
      for (std::uint64_t i = begin; i != end && !s.failure && may_go_on(number); ++i)
        run_one(i, s);
    } catch (...) {
      s.error = std::current_exception();
    }
    return s;
  }

  void run_one(std::uint64_t i, stretch& into) {
    begin_execution(options_);
    std::optional<explorer::result> r;
    try {
      r = executions_.run(options_.seed + i, [&] { folder_.begin(number_, i + 1); });
    } catch (std::exception const&) { // not the world's
      throw;
    } catch (...) {
      return into.fail_by_what_was_thrown(options_.seed + i, worlds_.chosen());
    }
    into.count(executions_.trace_hash());
    if (!r)
      ++into.repeated;
    else if (r->is_cut || r->is_left)
      into.count_inconclusive(std::move(r->busiest));
    else if (r->finding)
      into.fail(*r->finding, options_.seed + i, worlds_.chosen());
    if (into.divergence.empty() && !executions_.divergence().empty()) [[unlikely]]
      into.divergence = executions_.divergence();
  }

  explore_options const& options_;
  unsigned number_;
  explorer& worlds_;
  failure_folder& folder_;
  tally& all_;
  drawn_executions executions_;
};

} // namespace

any_strategy strategy_of(explore_options const& options) {
  auto strategy = make_strategy(options.strategy, {.bytes = options.bytes});
  if (!strategy)
    throw std::invalid_argument(
        fmt::format("explore: there is no strategy {}: swarm, random_walk, pct, bytes, boring and "
                    "exhaustive are known",
                    in_quotes(options.strategy)));
  return std::move(*strategy);
}

void sample(explore_options const& options, std::function<void(world&)> const& function,
            explorer& first, failure_folder& folder, verdict& into) {
  tally all;
  std::uint64_t const stretches =
      options.executions / job::length + (options.executions % job::length != 0 ? 1 : 0);
  auto const jobs = static_cast<unsigned>(std::clamp<std::uint64_t>(stretches, 1, options.jobs));
  run_jobs(
      options, function, first, jobs,
      [&](unsigned number, explorer& worlds) { job(options, number, worlds, folder, all).run(); },
      [&](std::exception_ptr why) { all.give_up(std::move(why)); });
  std::move(all).tell(into);
  into.is_interrupted = is_interrupted(options) && into.executions < options.executions;
}

} // namespace quarry

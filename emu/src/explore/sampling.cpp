// SPDX-License-Identifier: Apache-2.0
#include "sampling.hpp"

#include <quarry/strategy.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace quarry {

void count_execution(verdict& into, std::uint64_t trace_hash) noexcept {
  ++into.executions;
  into.trace_hash = (into.trace_hash ^ trace_hash) * 0x9e3779b97f4a7c15;
}

exploration_failure make_failure(emu::explored_memory::finding const& found, std::uint64_t seed,
                                 std::uint64_t execution, recorder const& chosen) {
  return {.kind = found.kind,
          .where = found.where,
          .report = found.report,
          .history = {},
          .seed = seed,
          .execution = execution,
          .found = chosen.record(),
          .shrunk = {}};
}

namespace {

/// What some executions came to that a job has run one after the other.
struct block {
  std::vector<std::uint64_t> trace_hashes;
  std::uint64_t inconclusive = 0;
  std::string busiest;
  // How the last one ended, if the exploration ends with it.
  std::optional<exploration_failure> failure;
  std::exception_ptr error;
};

/// The blocks of all jobs, in the order of their numbers.
class tally {
public:
  explicit tally(verdict& into) : into_(into) {}

  /// False: the exploration ends before this block.
  [[nodiscard]] bool wants(std::uint64_t number) const noexcept {
    return number < end_.load(std::memory_order_relaxed);
  }
  void add(std::uint64_t number, block&& b) {
    std::lock_guard const lock(mutex_);
    if (b.failure || b.error)
      end_at(number + 1);
    waiting_.emplace(number, std::move(b));
    for (auto next = waiting_.begin();
         next != waiting_.end() && next->first == counted_ && wants(counted_);
         next = waiting_.erase(next), ++counted_)
      count(next->second);
  }
  /// Nothing more is wanted, and nothing counts.
  void give_up(std::exception_ptr why) {
    std::lock_guard const lock(mutex_);
    error_ = std::move(why);
    end_at(0);
  }
  /// After all jobs. Rethrows what ended the exploration, if anything was thrown.
  void finish() const {
    if (error_)
      std::rethrow_exception(error_);
  }

private:
  void end_at(std::uint64_t number) noexcept {
    end_.store(std::min(number, end_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
  }
  void count(block& b) {
    for (std::uint64_t const h : b.trace_hashes)
      count_execution(into_, h);
    if (b.inconclusive != 0)
      into_.busiest = std::move(b.busiest);
    into_.inconclusive += b.inconclusive;
    into_.failure = std::move(b.failure);
    error_ = std::move(b.error);
  }

  verdict& into_;
  std::atomic<std::uint64_t> end_{~std::uint64_t{0}};
  std::mutex mutex_;
  std::map<std::uint64_t, block> waiting_; ///< for the ones before them
  std::uint64_t counted_ = 0;
  std::exception_ptr error_;
};

/// One thread's part: every jobs-th block. A strategy learns from the executions of its own job
/// alone, so that nobody's choices depend on how fast the others are.
class job {
public:
  job(explore_options const& o, unsigned number, explorer& worlds, failure_folder& folder,
      tally& all)
      : options_(o), number_(number), worlds_(worlds), folder_(folder), all_(all),
        strategy_(made(o)) {}

  void run() {
    for (std::uint64_t b = number_; b * block_size < options_.executions && all_.wants(b);
         b += options_.jobs)
      all_.add(b, run_block(b));
  }

  static constexpr std::uint64_t block_size = 16; ///< executions

private:
  [[nodiscard]] static any_strategy made(explore_options const& o) {
    auto strategy = make_strategy(o.strategy, {.bytes = o.bytes});
    if (!strategy)
      throw std::invalid_argument(strategy.error().what + ", or exhaustive");
    return std::move(*strategy);
  }

  /// A block that is no longer wanted while it runs ends early: it will not count.
  [[nodiscard]] block run_block(std::uint64_t number) {
    block b;
    b.trace_hashes.reserve(block_size);
    std::uint64_t const begin = number * block_size;
    std::uint64_t const end = std::min(begin + block_size, options_.executions);
    try {
      for (std::uint64_t i = begin; i != end && !b.failure && all_.wants(number); ++i)
        run_one(i, b);
    } catch (...) {
      b.error = std::current_exception();
    }
    return b;
  }

  void run_one(std::uint64_t i, block& b) {
    folder_.begin(number_, i + 1);
    begin_execution(options_);
    strategy_.begin(options_.seed + i);
    auto const r = worlds_.run(strategy_.choices());
    strategy_.end();
    b.trace_hashes.push_back(worlds_.chosen().trace_hash());
    if (r.is_cut) {
      ++b.inconclusive;
      b.busiest = r.busiest;
    } else if (r.finding) {
      b.failure = make_failure(*r.finding, options_.seed + i, i + 1, worlds_.chosen());
    }
  }

  explore_options const& options_;
  unsigned number_;
  explorer& worlds_;
  failure_folder& folder_;
  tally& all_;
  any_strategy strategy_;
};

} // namespace

void sample(explore_options const& options, std::function<void(world&)> const& function,
            explorer& first, failure_folder& folder, verdict& into) {
  tally all(into);
  job mine(options, 0, first, folder, all);
  auto const run_other = [&](unsigned number) noexcept {
    try {
      explorer worlds(options, function); // its fibers belong to this thread
      job(options, number, worlds, folder, all).run();
    } catch (...) {
      all.give_up(std::current_exception());
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      std::uint64_t const blocks = (options.executions + job::block_size - 1) / job::block_size;
      for (unsigned number = 1; number < options.jobs && number < blocks; ++number)
        others.emplace_back(run_other, number);
      mine.run();
    } catch (...) {
      all.give_up(std::current_exception());
    }
  }
  all.finish();
}

} // namespace quarry

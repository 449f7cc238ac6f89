// SPDX-License-Identifier: Apache-2.0
#include "command_lines.hpp"
#include "examination_allowance.hpp"
#include "explorer.hpp"
#include "failure_class.hpp"
#include "failure_folder.hpp"
#include "noexcept_report.hpp"
#include "repetition.hpp"
#include "replay_request.hpp"
#include "sampling.hpp"
#include "searching.hpp"
#include "stretch.hpp"
#include "trial.hpp"
#include "watchdog.hpp"

#include <quarry/replay.hpp>
#include <quarry/shrink.hpp>
#include <quarry/strategy.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <utility>
#include <vector>

namespace quarry {
namespace {

/// Fills in what is known once an execution has failed: is it repeatable, how short can it be?
void examine(explorer& worlds, explore_options const& options, examination_allowance const& allowed,
             exploration_failure& f) {
  auto const again = [&](choice_record const& r) -> std::optional<choice_record> {
    auto const found = worlds.repeat(r).finding;
    if (!found || class_of(*found) != class_of(f))
      return std::nullopt;
    return worlds.chosen().record();
  };
  auto const first = again(f.found);
  bool const came_to_limit = worlds.came_to_limit();
  // One that spins for long may need fewer choices, and tells less.
  auto const most_decisions = 2 * worlds.decision_count() + 100;
  f.is_repeatable = first && *first == f.found;
  f.shrunk = f.found;
  if (!f.is_repeatable || !options.shrinks)
    return;
  auto const unless_over = [&](choice_record const& r) {
    if (is_interrupted(options) || allowed.is_half_used())
      return std::optional<choice_record>();
    auto ran = again(r);
    bool const is_long =
        worlds.decision_count() > most_decisions || (worlds.came_to_limit() && !came_to_limit);
    return is_long ? std::nullopt : std::move(ran);
  };
  f.shrunk =
      shrink(f.found, failing_execution(unless_over), {.most_runs = options.most_shrinking}).record;
}

/// The failure once more, with its last operations, and words that have numbers in its report.
void narrate(explorer& worlds, exploration_failure& f) {
  auto const r = worlds.repeat(f.shrunk, true);
  f.history = r.history;
  f.equal = r.equal;
  if (!r.finding || class_of(*r.finding) != class_of(f))
    return;
  f.report = r.finding->report;
  f.shrunk = worlds.chosen().record(); // with what a replay is to find in the end
}

/// What is really to be done.
struct assignment {
  explore_options options;
  kept_in place;
  bool is_from_outside = false; ///< whoever started the program wants it repeated
  std::string differs;          ///< from what was recorded, a line each
};

kept_in place_of(explore_options const& o) {
  if (!o.keeps_failures || o.replays)
    return {};
  if (!o.failures.empty())
    return {.folder = o.failures};
  if (char const* const folder = std::getenv("QUARRY_FAILURES"))
    return {.folder = folder};
  return {.folder = "quarry-failures", .is_by_default = true};
}

/// With a name, and what the environment and the arguments say.
assignment completed(explore_options o, std::source_location where) {
  if (o.name.empty())
    o.name = to_string(where);
  assignment a;
  if (!o.replays && o.repeats == nullptr) {
    o.repeats = requested_replay(o.name);
    a.is_from_outside = o.repeats != nullptr;
  }
  if (o.repeats != nullptr)
    a.differs = repeat_by(o, *o.repeats);
  if (o.strategy != "exhaustive") // whatever is run: a diagnosis draws, too
    static_cast<void>(strategy_of(o));
  a.place = place_of(o);
  a.options = std::move(o);
  return a;
}

class exploration {
public:
  exploration(assignment a, std::function<void(world&)> const& f)
      : work_(std::move(a)), options_(work_.options), function_(f),
        folder_(work_.place, options_.name, options_.seed, options_.jobs),
        watch_(options_, folder_), worlds_(options_, f, watch_) {
    verdict_.name = options_.name;
    verdict_.left_behind = folder_.left_behind();
    verdict_.not_kept = folder_.why_not();
    verdict_.divergence = work_.differs;
  }

  verdict run() {
    try {
      return try_run();
    } catch (std::exception const&) {
      throw;
    } catch (...) { // a test framework's, say
      if (verdict_.failure)
        tell_before_it_is_lost(*verdict_.failure);
      throw;
    }
  }

private:
  using clock = std::chrono::steady_clock;
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(clock::now() - begun_).count();
  }

  verdict try_run() {
    begun_ = clock::now();
    if (options_.replays)
      repeat(*options_.replays);
    else if (options_.strategy == "exhaustive")
      search(options_, function_, worlds_, folder_, verdict_);
    else
      sample(options_, function_, worlds_, folder_, verdict_);
    verdict_.exploring_seconds = seconds();
    if (verdict_.failure) {
      save(*verdict_.failure); // at once: whoever waits for the rest may give up
      examination_allowance const allowed(options_.examines_for);
      examine(worlds_, options_, allowed, *verdict_.failure);
      narrate(worlds_, *verdict_.failure);
      save(*verdict_.failure);
      if (options_.diagnoses && verdict_.failure->is_repeatable &&
          verdict_.failure->kind != "unwinding" && !is_interrupted(options_))
        diagnose(worlds_, options_, allowed, *verdict_.failure);
    } else if (options_.narrows && !is_interrupted(options_)) {
      find_narrowings(worlds_, options_, verdict_);
    }
    if (verdict_.failure ? options_.shrinks || options_.diagnoses : options_.narrows)
      verdict_.is_interrupted = is_interrupted(options_);
    if (options_.repeats != nullptr)
      compare_with(*options_.repeats);
    verdict_.seconds = seconds();
    return std::move(verdict_);
  }

  void repeat(choice_record const& what) {
    replay recorded(what);
    recorded.begin(0);
    folder_.begin(0, 1);
    stretch one;
    run_chosen(worlds_, recorded, options_, one);
    recorded.end();
    std::move(one).tell(verdict_);
    if (auto const& d = recorded.diverged())
      verdict_.divergence += d->to_string() + "\n";
    verdict_.divergence += difference(what, worlds_.chosen().record());
  }

  /// Who looks at a verdict does not always print it.
  void compare_with(replay_file const& recorded) {
    auto const& f = verdict_.failure;
    std::string differs;
    if (!f || f->kind != recorded.kind || replay_file::one_line(f->where) != recorded.where) {
      verdict_.missed = fmt::format("{} {}", recorded.kind, recorded.where);
      differs = "did not fail as recorded: " + verdict_.missed;
    } else if (f->found != recorded.choices)
      differs = "failed as recorded, but in another execution";
    if (work_.is_from_outside && !differs.empty())
      fmt::print(stderr, "quarry: {} {}\n{}", options_.name, differs,
                 indented(verdict_.divergence));
  }

  /// Once more: in place of what was saved before.
  void save(exploration_failure& f) {
    replay_file file = record_of(options_, f.seed);
    file.kind = f.kind;
    file.where = f.where;
    file.choices = f.shrunk.count() == 0 ? f.found : f.shrunk;
    f.file = f.file.empty() ? folder_.save(file) : folder_.save_instead(f.file, file);
    verdict_.not_kept = folder_.why_not();
    if (f.file.empty())
      return;
    f.replay_line = replay_line(options_, f.file);
    f.debug_line = debug_line(options_, f.file);
  }

  /// There will be no verdict, since something goes through.
  void tell_before_it_is_lost(exploration_failure& f) {
    if (f.shrunk.count() == 0)
      f.shrunk = f.found;
    std::string text =
        fmt::format("quarry: {}: no verdict, the world has thrown what is no std::exception\n"
                    "  kind={}  {}  (execution {}{})\n",
                    options_.name, f.kind, f.where, f.execution,
                    f.seed == 0 ? "" : fmt::format(", seed {:#x}", f.seed));
    try {
      save(f);
      if (!f.file.empty())
        text += fmt::format("  replay: {}\n  debug:  {}\n", f.replay_line, f.debug_line);
    } catch (std::exception const& e) {
      text += fmt::format("  not saved: {}\n", e.what());
    }
    fmt::print(stderr, "{}", text);
  }

  assignment const work_;
  explore_options const& options_;
  std::function<void(world&)> const& function_;
  failure_folder folder_;
  watchdog watch_;
  explorer worlds_;
  clock::time_point begun_;
  verdict verdict_;
};

} // namespace

verdict explore(explore_options const& options, std::function<void(world&)> const& world_function,
                std::source_location where) {
  if ((options.reduces || options.hashes_states) && options.strategy != "exhaustive")
    throw std::invalid_argument("explore: only exhaustive exploration can be reduced, or hash "
                                "states");
  if (options.bounds && options.strategy != "exhaustive")
    throw std::invalid_argument(
        "explore: only exhaustive exploration has bounds; the strategy is " + options.strategy);
  if (options.reduces && (options.bounds.deviations || options.hashes_states))
    throw std::invalid_argument("explore: partial-order reduction goes with no bound of deviations "
                                "and no hashing of states; these two go together");
  if (options.strategy == "replay")
    throw std::invalid_argument("explore: the strategy replay has no choices to repeat; "
                                "--quarry-replay=FILE repeats those of a file");
  if (options.executions == 0)
    throw std::invalid_argument("explore: no executions; there is at least 1");
  if (options.most_decisions == 0)
    throw std::invalid_argument("explore: an execution of no decisions; most_decisions is at least "
                                "1");
  if (options.examines_for.count() < 0)
    throw std::invalid_argument(fmt::format("explore: {} seconds to examine a failure; there can "
                                            "be 0 or more",
                                            options.examines_for.count()));
  if (options.jobs == 0 || options.jobs > explore_options::most_jobs)
    throw std::invalid_argument(fmt::format("explore: {} jobs; there can be 1 to {}", options.jobs,
                                            explore_options::most_jobs));
  if (options.jobs > 1 && (options.reduces || options.hashes_states))
    throw std::invalid_argument("explore: what is reduced or hashes states runs with one job only");
  if (options.jobs > 1 && options.strategy == "bytes")
    throw std::invalid_argument("explore: bytes runs with one job only");
  report_abandoned_in_noexcept();
  return exploration(completed(options, where), world_function).run();
}

} // namespace quarry

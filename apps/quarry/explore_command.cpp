// SPDX-License-Identifier: Apache-2.0
#include "explore_command.hpp"

#include "build_info.hpp"
#include "command_line/checked_option.hpp"
#include "command_line/named_file.hpp"
#include "exit_status.hpp"
#include "output/json_text.hpp"
#include "output/progress_report.hpp"
#include "output/standard_output.hpp"
#include "output/text_file.hpp"
#include "processes/interrupt.hpp"
#include "weakening_table.hpp"

#include <quarry/emu/replay_file.hpp>
#include <quarry/explore/target.hpp>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

namespace quarry::command {
namespace {

using exploration::target;
using exploration::weakening;
using nlohmann::ordered_json;

constexpr int failed = 1;

struct request {
  std::string target;
  std::string weaken;
  bool all_weakenings = false;
  bool list = false;
  std::uint64_t runs = 1;
  std::string json;
  explore_options options;
  progress_report* progress = nullptr;
};

/// What `command` cannot do, and its status for that.
int complain(char const* command, std::string const& text, int status) {
  std::fputs(fmt::format("quarry {}: {}\n", command, text).c_str(), stderr);
  return status;
}

int list_targets() {
  for (target const& t : exploration::targets()) {
    print(fmt::format("{:<17} {}\n", t.name, t.what));
    for (weakening const& w : t.weakenings)
      print(fmt::format("{:<17}   --weaken {}\n", "", w.name()));
  }
  return 0;
}

/// One "queue.hpp:88 store release agent -> relaxed agent" for each.
ordered_json texts_of(std::vector<emu::adjustment> const& those) {
  auto all = ordered_json::array();
  for (emu::adjustment const& a : those)
    all.push_back(to_string(a));
  return all;
}

ordered_json to_json(verdict const& v) {
  ordered_json row{{"name", v.name},
                   {"executions", v.executions},
                   {"repeated", v.repeated},
                   {"inconclusive", v.inconclusive},
                   {"complete", v.is_complete},
                   {"open", v.is_open()},
                   {"cut_short", v.is_cut_short},
                   {"interrupted", v.is_interrupted},
                   {"seconds", v.seconds},
                   {"exploring_seconds", v.exploring_seconds},
                   {"executions_per_second", v.run_per_second()},
                   {"trace_hash", fmt::format("{:016x}", v.trace_hash)},
                   {"failed", v.failure.has_value()}};
  if (v.is_complete_up_to)
    row["complete_up_to"] = to_string(*v.is_complete_up_to);
  if (!v.divergence.empty())
    row["divergence"] = v.divergence;
  if (v.failure) {
    row["kind"] = v.failure->kind;
    row["where"] = v.failure->where;
    row["execution"] = v.failure->execution;
    row["preemptions"] = v.failure->shrunk.preemption_count();
    if (!v.failure->file.empty())
      row["replay"] = v.failure->file;
    if (v.failure->mended && v.failure->mended->is_possible)
      row["mended_by"] = texts_of(v.failure->mended->changes);
  }
  if (v.is_narrowed || !v.narrowings.empty())
    row["could_be_weaker"] = texts_of(v.narrowings);
  return row;
}

/// What was asked for, and what came of it.
ordered_json to_json(request const& r, target const& t, ordered_json rows) {
  ordered_json all{
      {"version", version},     {"target", t.name},       {"strategy", r.options.strategy},
      {"seed", r.options.seed}, {"jobs", r.options.jobs}, {"executions", r.options.executions}};
  if (r.options.bounds)
    all["bounds"] = to_string(r.options.bounds);
  if (r.all_weakenings)
    all["runs"] = r.runs;
  all["interrupted"] = interrupt::is_wanted(); // what has no row was not tried, or not to its end
  all["rows"] = std::move(rows);
  return all;
}

/// With a line for who asks how far it is.
verdict explore(target const& t, weakening const* w, explore_options options, request const& r) {
  r.progress->begin(fmt::format("{}{}{}, from seed {}", t.name, w == nullptr ? "" : " with ",
                                w == nullptr ? "" : w->name(), options.seed),
                    options.executions);
  options.begun = &r.progress->done();
  options.interrupted = &interrupt::flag();
  return explore_target(t, w, std::move(options));
}

int explore_once(target const& t, weakening const* w, request const& r, ordered_json& rows) {
  verdict const v = explore(t, w, r.options, r);
  print(v.to_string());
  rows.push_back(to_json(v));
  return !v || v.is_open() ? failed : v.is_interrupted ? interrupt::exit_status() : 0;
}

int run(request& r) {
  progress_report progress("quarry explore", "executions");
  r.progress = &progress;
  interrupt const by_user;
  try {
    target const& t = exploration::find_target(r.target);
    if (auto const can = check_writable(r.json); !can)
      return complain("explore", can.error().what, world_fault);
    auto rows = ordered_json::array();
    int status = 0;
    if (r.all_weakenings)
      status = weaken_all(
          t,
          {r.options, r.runs,
           [&](auto const* w, auto options) { return explore(t, w, std::move(options), r); }},
          rows);
    else if (r.weaken.empty())
      status = explore_once(t, nullptr, r, rows);
    else
      for (auto const& those : exploration::find_together(t, r.weaken))
        if (int const one = interrupt::is_wanted() ? interrupt::exit_status()
                                                   : explore_once(t, &those.front(), r, rows);
            status != failed && one != 0)
          status = one;
    if (r.all_weakenings && interrupt::is_wanted())
      complain("explore", "interrupted: what has no row was not tried, or not to its end", status);
    if (!r.json.empty())
      if (auto const written = write_text(r.json, json_text(to_json(r, t, std::move(rows))));
          !written)
        return complain("explore", written.error().what, world_fault);
    return status;
  } catch (std::invalid_argument const& e) {
    return complain("explore", e.what(), bad_usage);
  } catch (std::system_error const& e) {
    return complain("explore", e.what(), world_fault);
  }
}

int replay_one(std::string const& path) {
  auto const file = replay_file::read(path);
  if (!file)
    return complain("replay", file.error().what, world_fault);
  try {
    auto const& [t, weakened] = exploration::find_explored(file->name);
    verdict const v = explore_target(t, weakened.empty() ? nullptr : &weakened.front(),
                                     {.detects_races = file->detects_races,
                                      .direct_lint = file->direct_lint,
                                      .repeats = &*file});
    print(v.to_string());
    if (!v.missed.empty())
      return complain("replay", fmt::format("{}: did not fail as recorded: {}", path, v.missed),
                      world_fault);
    if (v.failure->found != file->choices)
      return complain("replay",
                      fmt::format("{}: it failed as recorded, but in another execution", path),
                      world_fault);
    return failed;
  } catch (std::invalid_argument const& e) {
    return complain("replay",
                    fmt::format("{}\nWhat another program has saved it repeats itself: "
                                "PROGRAM --quarry-replay={}",
                                e.what(), path),
                    bad_usage);
  }
}

/// `explore` without a target, or with --list, prints the list: nothing else that was asked for
/// would be done.
void check_list(CLI::App const& command, request const& r) {
  bool const has_target = command.count("target") > 0;
  if (has_target && !r.list)
    return;
  for (auto const* option : command.get_options())
    if (option->count() > 0 && option->get_name() != "--list")
      refuse(option->get_name(), r.list ? "does not go with --list"
                                        : "needs a target; quarry explore --list names them");
}

/// Options of an exhaustive search where there is none, and those that do not go together.
void check_search(CLI::App const& command, request const& r) {
  auto const& o = r.options;
  for (auto const* name : {"--deviations", "--preemptions", "--stale", "--reduced", "--hashed"})
    if (command.count(name) > 0 && o.strategy != "exhaustive")
      refuse(name, "needs --strategy exhaustive; the strategy is " + o.strategy);
  if (o.hashes_states && o.reduces)
    refuse("--hashed", "does not go with --reduced");
  for (auto const* name : {"--reduced", "--hashed"})
    if (o.jobs > 1 && command.count(name) > 0)
      refuse("--jobs", fmt::format("does not go with {}: one job knows what has been seen", name));
  if (command.count("--deviations") > 0 && o.reduces)
    refuse("--deviations", "does not go with --reduced; --preemptions and --stale do");
}

/// Options that would have no effect.
void check(CLI::App const& command, request const& r) {
  check_list(command, r);
  check_search(command, r);
  keep_apart({"--json", r.json}, {standard_output_file()});
  for (auto const* name : {"--narrow", "--failures"})
    if (command.count(name) > 0 && r.all_weakenings)
      refuse(name, "does not go with --all-weakenings");
  if (command.count("--weaken") > 0 && r.weaken.empty())
    refuse("--weaken", "is empty; quarry explore --list names what can be weakened");
  if (r.options.strategy != "exhaustive" && r.options.strategy != "boring")
    return;
  if (command.count("--seed") > 0)
    refuse("--seed", "has nothing to decide where --strategy is " + r.options.strategy);
  if (r.runs > 1)
    refuse("--runs", fmt::format("read {}, but no seed decides anything where --strategy is {}: "
                                 "allowed is 1",
                                 r.runs, r.options.strategy));
}

void add_strategy(CLI::App& command, explore_options& options) {
  static constexpr std::array names{"swarm", "random_walk", "pct", "boring", "exhaustive"};
  add_named(
      command, "--strategy", names, 0, [&options](std::size_t i) { options.strategy = names[i]; },
      "what decides who runs next");
}

void add_bounds(CLI::App& command, search_bounds& most) {
  add_bound(command, "--deviations", most.deviations,
            "exhaustive: at most so many switches, stale values, late writes and messages");
  add_bound(command, "--preemptions", most.preemptions,
            "exhaustive: at most so many switches from an actor that could go on (context bound)");
  add_bound(command, "--stale", most.stale,
            "exhaustive: at most so many stale values, late writes and messages");
}

void add_search(CLI::App& command, explore_options& options) {
  add_number(command, "--executions", options.executions, 1, UINT64_MAX, "at most so many");
  add_number(
      command, "--jobs", options.jobs, 1, explore_options::most_jobs,
      "threads that run executions; the result depends on the seed and on this, not on timing");
  add_number(
      command, "--seed", options.seed, 0, UINT64_MAX,
      "of the first execution; the next ones have the next seeds: for others, be far from it");
  add_strategy(command, options);
  add_bounds(command, options.bounds);
  command.add_flag("--reduced", options.reduces,
                   "exhaustive: of executions that differ only in the order of steps that have "
                   "nothing to do with each other, one (dynamic partial-order reduction); not with "
                   "--deviations");
  command.add_flag("--hashed", options.hashes_states,
                   "exhaustive: give an execution up that has come to a state which has been "
                   "seen; also with those bounds");
}

void add_weakening(CLI::App& command, request& r) {
  auto* weaken = command.add_option(
      "--weaken", r.weaken, "weaken ENTRY, or ENTRY=ORDER, or ENTRY=SCOPE, by one step; A+B: both");
  auto* all = command.add_flag(
      "--all-weakenings", r.all_weakenings,
      "weaken every entry in turn, and those together that do the same work; a table");
  exclude(all, weaken);
  add_number(command, "--runs", r.runs, 1, UINT64_MAX, "seeds for each row of that table")
      ->needs(all);
}

void add_findings(CLI::App& command, explore_options& options) {
  auto* values = command.add_flag_callback(
      "--no-races", [&options] { options.detects_races = false; }, "look at values only");
  auto* direct =
      command.add_flag("--direct", options.direct_lint,
                       "also report what is ordered only through different scopes (HRF-direct)");
  exclude(direct, values);
  command.add_flag("--narrow", options.narrows,
                   "if nothing fails: which operations could be weaker, each tried in as many "
                   "executions, and in as many one after the other");
}

} // namespace

void add_explore_command(CLI::App& quarry, int& exit_status) {
  auto* command = quarry.add_subcommand(
      "explore", "run a queue in many schedules over incoherent caches, and look for failures");
  command->footer(
      "Examples:\n"
      "  quarry explore --list\n"
      "  quarry explore spsc-queue --executions 1000000 --jobs 8\n"
      "  quarry explore spsc-queue --weaken publish_write_index=relaxed\n"
      "  quarry explore mpmc-queue --all-weakenings --runs 20 --json table.json\n"
      "  quarry explore spsc-queue --strategy exhaustive --deviations 2 --hashed\n"
      "  quarry explore mpmc-queue --strategy exhaustive --preemptions 0 --executions 1000000\n"
      "Exit status: 0 nothing found, 1 a failure (with --all-weakenings: one that was not found),\n"
      "or more than a tenth of the executions was cut off (OPEN), 2 no such target, entry or\n"
      "strategy, 3 a file cannot be written, 130 or 143 ended by Ctrl-C or SIGTERM before one was\n"
      "found: what there is by then is told.\n");
  auto r = std::make_shared<request>();
  r->options.replay_command = "quarry replay ";
  r->options.debug_command = "quarry gdb --replay ";
  command->add_option("target", r->target, "what to explore; without it: the list");
  command->add_flag("--list", r->list, "list the targets, and what can be weakened in each");
  add_search(*command, r->options);
  add_weakening(*command, *r);
  add_findings(*command, r->options);
  char const* const folder = std::getenv("QUARRY_FAILURES");
  command
      ->add_option("--failures", r->options.failures,
                   "folder for replay files, QUARRY_FAILURES otherwise; \"\": none")
      ->default_str(folder != nullptr ? folder : "quarry-failures");
  add_output_file(*command, "--json", r->json, "write the results to this file as well");
  check_when_read(*command, [command, r] { check(*command, *r); });
  command->callback([command, r, &exit_status] {
    // Without the option explore() finds the folder: one that nobody asked for may be missing.
    r->options.keeps_failures = command->count("--failures") == 0 || !r->options.failures.empty();
    exit_status = r->list || command->count("target") == 0 ? list_targets() : run(*r);
  });
}

void add_replay_command(CLI::App& quarry, int& exit_status) {
  auto* command = quarry.add_subcommand("replay", "repeat an execution that `explore` has saved");
  command->footer(
      "Example:\n  quarry replay quarry-failures/spsc-queue-1.replay\n"
      "Exit status: 1 it failed as recorded, 2 bad usage, or no such target or entry, 3 it\n"
      "did not fail so, or in another execution, or the file cannot be read, was edited\n"
      "or cut short.\n");
  auto file = std::make_shared<std::string>();
  command->add_option("file", *file, "the replay file")->required();
  command->callback([file, &exit_status] { exit_status = replay_one(*file); });
}

} // namespace quarry::command

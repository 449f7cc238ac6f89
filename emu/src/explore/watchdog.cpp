// SPDX-License-Identifier: Apache-2.0
#include "watchdog.hpp"

#include "command_lines.hpp"
#include "explorer.hpp"
#include "repetition.hpp"
#include "traced.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace quarry {
namespace {

constexpr int looks_before_the_end = 50;

/// Of failed executions, and of those that are given up, frames are destroyed in mid-way.
std::string likely_causes(explorer const& stuck) {
  std::string text;
  if (std::string const why = stuck.why_it_ends(); !why.empty())
    text = fmt::format("  This execution has failed, or is given up, and frames of its actors are "
                       "destroyed then: does a\n  destructor wait there? Most operations: {}. "
                       "Before:\n{}",
                       stuck.who_did_most(), indented(why));
  return text +
         "  What only native code changes (a std::atomic, a plain variable, a std::mutex, a "
         "static that is\n  being made) nobody can change meanwhile: wait_until, quarry::mutex and "
         "Quarry's memory give way.\n";
}

} // namespace

watchdog::watchdog(explore_options const& options, failure_folder& folder)
    : options_(options), folder_(folder) {
  if (options_.patience.count() > 0)
    watch_thread::add(*this, std::max<std::chrono::microseconds>(options_.patience,
                                                                 std::chrono::milliseconds(1)) /
                                 looks_before_the_end);
}

watchdog::~watchdog() {
  watch_thread::remove(*this);
}

void watchdog::begin(explorer& of) {
  std::lock_guard const lock(mutex_);
  all_.push_back({&of});
}

void watchdog::end(explorer const& of) {
  std::lock_guard const lock(mutex_);
  std::erase_if(all_, [&](watched const& w) { return w.worlds == &of; });
}

void watchdog::look() {
  std::lock_guard const lock(mutex_);
  for (watched& w : all_) {
    std::uint64_t const now = w.worlds->look_at_progress();
    if (now == 0 || std::exchange(w.seen, now) != now)
      w.looks = 0;
    else if (++w.looks >= looks_before_the_end && !is_traced())
      give_up(*w.worlds);
  }
}

/// Reads what belongs to a thread that does not touch it any more; should it, it is too late.
void watchdog::give_up(explorer& stuck) {
  fmt::print(stderr,
             "quarry: {}: no decision for {} ms, after {} in this execution\n  {}\n{}"
             "  If it only takes long between two of its operations: explore_options::patience.\n",
             options_.name, options_.patience.count(), stuck.decision_count(), stuck.who_runs(),
             likely_causes(stuck));
  if (!folder_.mark().empty())
    fmt::print(stderr, "  mark:   {}\n", folder_.mark());
  std::fflush(stderr);
  replay_file file = record_of(options_, stuck.seed());
  file.kind = "stuck";
  file.where = stuck.where_it_runs();
  file.choices = stuck.chosen().record();
  try {
    if (std::string const path = folder_.save(file); !path.empty())
      fmt::print(stderr, "  replay: {}\n  debug:  {}\n", replay_line(options_, path),
                 debug_line(options_, path));
  } catch (std::exception const& e) {
    fmt::print(stderr, "  not saved: {}\n", e.what());
  }
  std::fflush(nullptr);
  std::_Exit(explore_options::stuck_status);
}

} // namespace quarry

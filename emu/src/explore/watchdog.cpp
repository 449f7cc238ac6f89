// SPDX-License-Identifier: Apache-2.0
#include "watchdog.hpp"

#include "command_lines.hpp"
#include "explorer.hpp"
#include "repetition.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace quarry {
namespace {

constexpr int looks_before_the_end = 50;

/// By a debugger, say.
bool is_traced() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (constexpr std::string_view key = "TracerPid:"; line.starts_with(key))
      return line.find_first_of("123456789", key.size()) != std::string::npos;
  return false;
}

} // namespace

watchdog::watchdog(explore_options const& options, failure_folder& folder)
    : options_(options), folder_(folder) {
  if (options_.patience.count() <= 0 || is_traced())
    return;
  try {
    thread_ = std::jthread([this](std::stop_token const& stop) { watch(stop); });
  } catch (std::system_error const&) { // no more threads: nobody looks
  }
}

void watchdog::begin(explorer& of) {
  std::lock_guard const lock(mutex_);
  all_.push_back({&of});
}

void watchdog::end(explorer const& of) {
  std::lock_guard const lock(mutex_);
  all_.remove_if([&](watched const& w) { return w.worlds == &of; });
}

void watchdog::watch(std::stop_token const& stop) {
  // Counted, and not asked of a clock, which goes on while a debugger holds the process.
  auto const between =
      std::max<std::chrono::microseconds>(options_.patience, std::chrono::milliseconds(1)) /
      looks_before_the_end;
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    static_cast<void>(stopped_.wait_for(lock, stop, between, [] { return false; }));
    for (watched& w : all_) {
      std::uint64_t const now = w.worlds->look_at_progress();
      if (now == 0 || std::exchange(w.seen, now) != now)
        w.looks = 0;
      else if (++w.looks >= looks_before_the_end && !stop.stop_requested() && !is_traced())
        give_up(*w.worlds);
    }
  }
}

/// Reads what belongs to a thread that does not touch it any more; should it, it is too late.
void watchdog::give_up(explorer& stuck) {
  fmt::print(stderr,
             "quarry: {}: no decision for {} ms, after {} in this execution\n  {}\n"
             "  What only native code changes (a std::atomic, a plain variable, a std::mutex, a "
             "static that is\n  being made) nobody can change meanwhile: wait_until, "
             "quarry::mutex and Quarry's memory give way.\n"
             "  If it only takes long between two of its operations: explore_options::patience.\n",
             options_.name, options_.patience.count(), stuck.decision_count(), stuck.who_runs());
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

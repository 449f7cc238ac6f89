// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explorer.hpp"

#include <fmt/core.h>

#include <atomic>
#include <exception>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

namespace quarry {

/// Calls run(number, worlds) for the numbers 0 to jobs - 1, each on a thread of its own; number 0
/// on the caller's, with `first`; none before all have their threads. Calls give_up(exception) for
/// what one of them throws, then the others are to end soon; or if there are not that many threads.
template<class Run, class GiveUp>
void run_jobs(explore_options const& options, std::function<void(world&)> const& function,
              explorer& first, unsigned jobs, Run const& run, GiveUp const& give_up) {
  enum class gate { closed, open, given_up };
  std::atomic<gate> start_gate = gate::closed;
  auto const set_gate = [&](gate g) {
    start_gate = g;
    start_gate.notify_all();
  };
  auto const run_other = [&](unsigned number) noexcept {
    // What a job takes while threads are started would be lacked by them: who says so is by chance.
    start_gate.wait(gate::closed);
    if (start_gate == gate::given_up)
      return;
    try {
      explorer worlds(options, function, first.watch()); // its fibers belong to this thread
      run(number, worlds);
    } catch (...) {
      give_up(std::current_exception());
    }
  };
  std::vector<std::jthread> others;
  auto const start = [&](unsigned number) {
    try {
      others.emplace_back(run_other, number);
    } catch (std::system_error const& e) {
      throw std::system_error(e.code(), fmt::format("{} of {} jobs can be started", number, jobs));
    }
  };
  try {
    others.reserve(jobs);
    for (unsigned number = 1; number < jobs; ++number)
      start(number);
    set_gate(gate::open);
    run(0, first);
  } catch (...) {
    if (start_gate == gate::closed)
      set_gate(gate::given_up);
    give_up(std::current_exception());
  }
}

} // namespace quarry

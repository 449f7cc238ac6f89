// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explorer.hpp"

#include <fmt/core.h>

#include <exception>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

namespace quarry {

/// Calls run(number, worlds) for the numbers 0 to jobs - 1, each on a thread of its own; number 0
/// on the caller's, with `first`. Calls give_up(exception) for what one of them throws, or if there
/// are no more threads: the others are to end soon.
template<class Run, class GiveUp>
void run_jobs(explore_options const& options, std::function<void(world&)> const& function,
              explorer& first, unsigned jobs, Run const& run, GiveUp const& give_up) {
  auto const run_other = [&](unsigned number) noexcept {
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
    run(0, first);
  } catch (...) {
    give_up(std::current_exception());
  }
}

} // namespace quarry

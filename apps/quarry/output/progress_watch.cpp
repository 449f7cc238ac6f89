// SPDX-License-Identifier: Apache-2.0
#include "progress_watch.hpp"

#include <chrono>
#include <unistd.h>
#include <utility>

namespace quarry::command {

progress_watch::progress_watch(progress_line::place where, std::string label, std::uint64_t total,
                               std::string unit, std::function<std::uint64_t()> done)
    : line_(where, std::move(label), total, std::move(unit)), done_(std::move(done)) {
  if (where == progress_line::place::terminal && ::isatty(STDERR_FILENO) != 0)
    thread_ = std::jthread([this](std::stop_token const& stops) { run(stops); });
}

void progress_watch::run(std::stop_token const& stops) {
  std::unique_lock lock(mutex_);
  while (!stops.stop_requested()) {
    line_.update(done_());
    wakes_.wait_for(lock, stops, std::chrono::milliseconds(100), [] { return false; });
  }
}

} // namespace quarry::command

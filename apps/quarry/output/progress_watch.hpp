// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "progress_line.hpp"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace quarry::command {

/// A progress line for work that has no place of its own to report from, such as one long kernel: a
/// thread asks ten times a second how much is done, while this lives.
class progress_watch {
public:
  /// `done` is called by that thread.
  progress_watch(progress_line::place where, std::string label, std::uint64_t total,
                 std::string unit, std::function<std::uint64_t()> done);

private:
  void run(std::stop_token const& stops);

  progress_line line_;
  std::function<std::uint64_t()> done_;
  std::mutex mutex_;
  std::condition_variable_any wakes_;
  std::jthread thread_; ///< last: it reads the others
};

} // namespace quarry::command

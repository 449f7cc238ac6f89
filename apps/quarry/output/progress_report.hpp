// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/sigquit.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace quarry::command {

/// While it lives, SIGQUIT (Ctrl-\) prints a line on standard error about what the command is at
/// and how far that has come, and the command goes on.
class progress_report {
public:
  /// "quarry explore", "executions"
  progress_report(std::string speaker, std::string unit);

  /// Something begins, with which so many of the total are done.
  void begin(std::string what, std::uint64_t total, std::uint64_t done = 0);
  /// What counts them from now on, in any thread.
  [[nodiscard]] std::atomic<std::uint64_t>& done() noexcept { return done_; }

private:
  [[nodiscard]] std::string line();

  std::string const speaker_;
  std::string const unit_;
  std::atomic<std::uint64_t> done_{0};
  std::mutex mutex_; ///< guards what follows
  std::string what_;
  std::uint64_t total_ = 0;
  sigquit_report on_sigquit_; ///< last: it reads the others
};

} // namespace quarry::command

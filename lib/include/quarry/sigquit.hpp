// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/scheduler.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace quarry {

/// While it lives, SIGQUIT (Ctrl-\) prints who waits for what on stderr, or another text, and the
/// program goes on.
///
/// The handler only posts a semaphore; a thread of its own makes the text. The executors are
/// borrowed.
///
/// Errors   std::logic_error – another one lives in this process; std::system_error – the handler
///          or the thread is refused
class sigquit_report {
public:
  explicit sigquit_report(std::function<std::string()> text);
  explicit sigquit_report(std::vector<executor*> executors);
  explicit sigquit_report(executor& e) : sigquit_report(std::vector<executor*>{&e}) {}
  sigquit_report(sigquit_report const&) = delete;
  sigquit_report& operator=(sigquit_report const&) = delete;
  /// Gives SIGQUIT back its old handler. A report that has been asked for is still printed.
  ~sigquit_report();

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace quarry

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <optional>
#include <sys/signalfd.h>

namespace quarry::command {

/// While it lives, SIGCHLD, SIGINT, SIGTERM, SIGHUP and SIGQUIT come as input, to be polled for,
/// and do nothing else; but those of the last four that are ignored before (nohup) stay ignored.
/// SIGPIPE is ignored meanwhile. Only for a process with one thread.
class signal_input {
public:
  signal_input();
  signal_input(signal_input const&) = delete;
  signal_input& operator=(signal_input const&) = delete;
  ~signal_input();

  /// Readable when there is a signal to take.
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::optional<signalfd_siginfo> try_next() const;

  /// What was blocked before, and should be in a child.
  [[nodiscard]] sigset_t const& mask_before() const { return mask_before_; }

private:
  int fd_ = -1;
  sigset_t mask_before_{};
  struct sigaction child_action_before_{};
  struct sigaction pipe_action_before_{};
};

} // namespace quarry::command

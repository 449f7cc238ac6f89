// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/result.hpp>

#include <csignal>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace quarry::command {

/// How a child ended.
struct child_end {
  int exit_status = 0; ///< meaningless if it died of a signal
  int signal = 0;      ///< 0: it exited

  [[nodiscard]] bool is_failure() const { return signal != 0 || exit_status != 0; }
  /// As a shell says it: 128 + signal for one that died of a signal.
  [[nodiscard]] int shell_status() const { return signal != 0 ? 128 + signal : exit_status; }
  /// "died of signal 9 (Killed)" or "ended with exit status 3"
  friend std::string to_string(child_end const& end);
};

struct child_request {
  std::vector<std::string> program;     ///< argv; program[0] is looked for in PATH
  std::vector<std::string> environment; ///< NAME=value, added to ours or replacing it
  int inherited_fd = -1;                ///< a close-on-exec descriptor that the child keeps
  int input_fd = 0;                     ///< what becomes its standard input, output and error
  int output_fd = 1;
  int error_fd = 2;
  sigset_t signal_mask{}; ///< what the child blocks
};

/// A process that we started and have to wait for.
///
/// It dies with the thread that started it (SIGKILL, by the kernel), however that ends. Destroying
/// one that still runs kills it and waits, so that neither a zombie nor an orphan is left.
class child_process {
public:
  /// On return the program runs. Only to be called while this process has one thread.
  ///
  /// Errors   a std::errc – the program could not be started; names it
  [[nodiscard]] static result<child_process> start(child_request const& request);

  child_process(child_process&& other) noexcept;
  child_process& operator=(child_process&&) = delete;
  ~child_process();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool is_running() const { return is_running_; }

  /// How it ended, once, if that is news. Never blocks.
  [[nodiscard]] std::optional<child_end> try_join();
  /// Nothing happens if it has been joined.
  void send(int signal) const;

private:
  explicit child_process(pid_t pid) : pid_(pid) {}

  pid_t pid_;
  bool is_running_ = true; // not joined yet: until then its pid cannot belong to somebody else
};

} // namespace quarry::command

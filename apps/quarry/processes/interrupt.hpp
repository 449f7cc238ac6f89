// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <csignal>

namespace quarry::command {

/// While it lives, the first SIGINT (Ctrl-C) or SIGTERM (`timeout`) asks for an early end, and the
/// second one ends the process as if nobody had asked for it. One that was ignored before (nohup)
/// stays ignored. One at a time.
class interrupt {
public:
  interrupt() noexcept;
  interrupt(interrupt const&) = delete;
  interrupt& operator=(interrupt const&) = delete;
  ~interrupt();

  /// For code that looks at it now and then.
  [[nodiscard]] static std::atomic<bool> const& flag() noexcept { return has_come; }
  [[nodiscard]] static bool is_wanted() noexcept { return has_come.load(); }
  /// What a process ends with that was ended so, as shells have it: 130, 143.
  [[nodiscard]] static int exit_status() noexcept { return 128 + which.load(); }

private:
  static void hear(int signal) noexcept;

  static constexpr std::array signals{SIGINT, SIGTERM};
  static std::atomic<bool> has_come;
  static std::atomic<int> which;
  static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
                "a signal handler sets them");
  std::array<struct sigaction, signals.size()> before_{};
};

} // namespace quarry::command

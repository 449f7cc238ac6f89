// SPDX-License-Identifier: Apache-2.0
#include "interrupt.hpp"

namespace quarry::command {

std::atomic<bool> interrupt::has_come{false};
std::atomic<int> interrupt::which{0};

/// The second one, of either kind, ends the process.
void interrupt::hear(int signal) noexcept {
  which = signal;
  if (has_come.exchange(true)) {
    std::signal(signal, SIG_DFL);
    std::raise(signal); // once this has returned
  }
}

interrupt::interrupt() noexcept {
  has_come = false;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    ::sigaction(signals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler == SIG_IGN)
      continue;
    struct sigaction now{};
    now.sa_handler = &hear;
    now.sa_flags = SA_RESTART;
    ::sigaction(signals[i], &now, nullptr);
  }
}

interrupt::~interrupt() {
  for (std::size_t i = 0; i < signals.size(); ++i)
    ::sigaction(signals[i], &before_[i], nullptr);
}

} // namespace quarry::command

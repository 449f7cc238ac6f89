// SPDX-License-Identifier: Apache-2.0
#include "interrupt.hpp"

namespace quarry::command {

std::atomic<bool> interrupt::has_come{false};

interrupt::interrupt() noexcept {
  has_come = false;
  ::sigaction(SIGINT, nullptr, &before_);
  if (before_.sa_handler == SIG_IGN)
    return;
  struct sigaction now{};
  now.sa_handler = [](int) { has_come = true; };
  now.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  ::sigaction(SIGINT, &now, nullptr);
}

interrupt::~interrupt() {
  ::sigaction(SIGINT, &before_, nullptr);
}

} // namespace quarry::command

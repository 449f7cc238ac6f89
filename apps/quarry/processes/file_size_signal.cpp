// SPDX-License-Identifier: Apache-2.0
#include "file_size_signal.hpp"

#include <csignal>

namespace quarry::command {
namespace {

using handler = void (*)(int);

handler before = SIG_IGN; // a program that never ignored it has nothing to restore

} // namespace

void ignore_file_size_signal() {
  before = std::signal(SIGXFSZ, SIG_IGN);
}

void restore_file_size_signal() noexcept {
  if (before != SIG_IGN)
    std::signal(SIGXFSZ, before);
}

} // namespace quarry::command

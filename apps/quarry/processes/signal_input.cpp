// SPDX-License-Identifier: Apache-2.0
#include "signal_input.hpp"

#include <cerrno>
#include <system_error>
#include <unistd.h>

namespace quarry::command {
namespace {

bool is_ignored(int signal) {
  struct sigaction now{};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

} // namespace

signal_input::signal_input() {
  // If we inherited it as ignored, children would vanish before anybody asked how they ended.
  struct sigaction plain{};
  plain.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &plain, &child_action_before_);
  // Whoever reads our output may leave at any time; that must not end us before our children.
  struct sigaction ignored{};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignored, &pipe_action_before_);
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGCHLD);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
    if (!is_ignored(signal)) // as by nohup; once blocked it would come all the same
      sigaddset(&wanted, signal);
  fd_ = ::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd_ < 0)
    throw std::system_error(errno, std::generic_category(), "signalfd");
  ::sigprocmask(SIG_BLOCK, &wanted, &mask_before_);
}

signal_input::~signal_input() {
  ::close(fd_);
  ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
  ::sigaction(SIGCHLD, &child_action_before_, nullptr);
  ::sigaction(SIGPIPE, &pipe_action_before_, nullptr);
}

std::optional<signalfd_siginfo> signal_input::try_next() const {
  signalfd_siginfo info{};
  if (::read(fd_, &info, sizeof info) != static_cast<ssize_t>(sizeof info))
    return std::nullopt;
  return info;
}

} // namespace quarry::command

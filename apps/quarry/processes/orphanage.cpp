// SPDX-License-Identifier: Apache-2.0
#include "orphanage.hpp"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace quarry::command {

orphanage::orphanage() : list_(::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC)) {
  ::prctl(PR_GET_CHILD_SUBREAPER, &before_);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

orphanage::~orphanage() {
  ::prctl(PR_SET_CHILD_SUBREAPER, before_);
}

void orphanage::close() {
  for (bool is_empty = false; !is_empty;) {
    is_empty = true;
    std::istringstream pids(children());
    for (pid_t pid = 0; pids >> pid;) {
      ::kill(pid, SIGKILL);
      // Only a child that is gone counts, so that this ends even if /proc tells us strange things.
      is_empty = ::waitpid(pid, nullptr, 0) != pid && is_empty;
    }
  }
}

/// The ids of our children, with spaces between them.
std::string orphanage::children() const {
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; (got = ::pread(list_.get(), buffer.data(), buffer.size(),
                                       static_cast<off_t>(text.size()))) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  return text;
}

} // namespace quarry::command

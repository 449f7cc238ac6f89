// SPDX-License-Identifier: Apache-2.0
#include "orphanage.hpp"

#include <csignal>
#include <fstream>
#include <sys/prctl.h>
#include <sys/wait.h>

namespace quarry::command {

orphanage::orphanage() {
  ::prctl(PR_GET_CHILD_SUBREAPER, &before_);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

orphanage::~orphanage() {
  ::prctl(PR_SET_CHILD_SUBREAPER, before_);
}

void orphanage::close() {
  for (bool is_empty = false; !is_empty;) {
    is_empty = true;
    std::ifstream children("/proc/thread-self/children");
    for (pid_t pid = 0; children >> pid;) {
      ::kill(pid, SIGKILL);
      // Only a child that is gone counts, so that this ends even if /proc tells us strange things.
      is_empty = ::waitpid(pid, nullptr, 0) != pid && is_empty;
    }
  }
}

} // namespace quarry::command

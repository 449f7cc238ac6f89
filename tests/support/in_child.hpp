// SPDX-License-Identifier: Apache-2.0
// What a process says, and how it ends, that is to abort.
#pragma once

#include <doctest/doctest.h>
#include <oneapi/tbb/global_control.h>

#include <csignal>
#include <new>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace quarry_test {

struct end_of_child {
  int status;
  std::string said;
  [[nodiscard]] bool is_aborted() const {
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
  }
};

/// Runs `f` in a child process, for a minute at most; how that ended, and what it wrote to stderr.
/// No native_scheduler lives meanwhile: oneTBB's threads end first, since they would be missing in
/// the child, and with them the locks that they held.
template<class F>
end_of_child in_child(F const& f) {
  oneapi::tbb::task_scheduler_handle threads{oneapi::tbb::attach{}};
  REQUIRE(oneapi::tbb::finalize(threads, std::nothrow));
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  pid_t const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL); // doctest has a handler
    rlimit const no_core{};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::alarm(60);
    ::dup2(pipe_ends[1], STDERR_FILENO);
    f();
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  end_of_child end{};
  for (char c = 0; ::read(pipe_ends[0], &c, 1) == 1;)
    end.said.push_back(c);
  ::close(pipe_ends[0]);
  CHECK(::waitpid(child, &end.status, 0) == child);
  return end;
}

/// It says `what`, and aborts.
template<class F>
void aborts(F const& f, std::string const& what) {
  auto const end = in_child(f);
  CHECK(end.is_aborted());
  CHECK_MESSAGE(end.said.find(what) != std::string::npos, end.said);
}

} // namespace quarry_test

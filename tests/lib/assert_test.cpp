// SPDX-License-Identifier: Apache-2.0
// Checked here, whatever the build checks.
#undef NDEBUG
#include <quarry/assert.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct end_of_child {
  int status;
  std::string said;
};

/// Runs `f` in a child process; how that ended, and what it wrote to stderr.
template<class F>
end_of_child in_child(F const& f) {
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  pid_t const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL); // doctest has a handler
    rlimit const no_core{};
    ::setrlimit(RLIMIT_CORE, &no_core);
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

} // namespace

TEST_SUITE("lib.assert") {
  TEST_CASE("a broken invariant says what and where it is, and aborts") {
    int line = 0;
    int const apples = 3;
    auto const end = in_child([&] { QUARRY_ASSERT(apples == 4); });
    line = __LINE__ - 1;
    CAPTURE(end.said);
    REQUIRE(WIFSIGNALED(end.status));
    CHECK(WTERMSIG(end.status) == SIGABRT);
    CHECK(end.said.find("broken invariant: apples == 4 at ") != std::string::npos);
    CHECK(end.said.find("assert_test.cpp:" + std::to_string(line)) != std::string::npos);
  }

  TEST_CASE("one that holds is looked at once, and says nothing") {
    int looked = 0;
    QUARRY_ASSERT(++looked == 1);
    CHECK(looked == 1);
    auto const end = in_child([] { QUARRY_ASSERT(1 + 1 == 2); });
    CHECK(WIFEXITED(end.status));
    CHECK(end.said == "");
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "child_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace quarry::bench {
namespace {

using clock = std::chrono::steady_clock;

void require(int error, char const* call) {
  if (error != 0)
    throw std::system_error{error, std::system_category(), call};
}

/// Starts `command` in a process group of its own, its standard output going to `output`.
pid_t start(std::vector<std::string> const& command, int output) {
  std::vector<char*> arguments;
  for (std::string const& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = 0;
  int const error =
      posix_spawn(&child, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  require(error, command[0].c_str());
  return child;
}

/// Reads until the writer closes. Returns false if `deadline` comes first.
bool read_all(int from, clock::time_point deadline, std::string& to) {
  std::array<char, 4096> block;
  for (;;) {
    auto const left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock::now()).count();
    pollfd ready{from, POLLIN, 0};
    if (left <= 0 || (::poll(&ready, 1, static_cast<int>(left)) == 0))
      return false;
    auto const size = ::read(from, block.data(), block.size());
    if (size == 0)
      return true;
    if (size > 0)
      to.append(block.data(), static_cast<std::size_t>(size));
    else if (errno != EINTR)
      require(errno, "read");
  }
}

} // namespace

child_result run_child(std::vector<std::string> const& command, std::chrono::milliseconds limit) {
  std::array<int, 2> pipe{};
  require(::pipe2(pipe.data(), O_CLOEXEC) == 0 ? 0 : errno, "pipe2");
  pid_t child = 0;
  try {
    child = start(command, pipe[1]);
  } catch (...) {
    ::close(pipe[0]);
    ::close(pipe[1]);
    throw;
  }
  ::close(pipe[1]);
  child_result result;
  // A child that closes its output and then hangs would not be ended by the clock below; the
  // programs that are started here write their answer last.
  result.timed_out = !read_all(pipe[0], clock::now() + limit, result.output);
  ::close(pipe[0]);
  if (result.timed_out)
    ::kill(-child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::string program_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

} // namespace quarry::bench

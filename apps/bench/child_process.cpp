// SPDX-License-Identifier: Apache-2.0
#include "child_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
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
  arguments.reserve(command.size() + 1);
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

int milliseconds_until(clock::time_point deadline) {
  auto const left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

/// Reads until the writer closes. Returns false if `deadline` comes first.
bool read_all(int from, clock::time_point deadline, std::string& to) {
  std::array<char, 4096> block;
  for (;;) {
    pollfd ready{from, POLLIN, 0};
    int const count = ::poll(&ready, 1, milliseconds_until(deadline));
    if (count == 0)
      return false;
    if (count < 0 && errno == EINTR)
      continue;
    auto const size = ::read(from, block.data(), block.size());
    if (size == 0)
      return true;
    if (size > 0)
      to.append(block.data(), static_cast<std::size_t>(size));
    else if (errno != EINTR)
      require(errno, "read");
  }
}

/// Waits for the child's end, without taking its status. Returns false if `deadline` comes first.
bool has_ended(pid_t child, clock::time_point deadline) {
  // Not pidfd_open(): glibc 2.36's header forgets that it is a C function.
  auto const descriptor = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
  require(descriptor >= 0 ? 0 : errno, "pidfd_open");
  pollfd ended{descriptor, POLLIN, 0};
  int count = 0;
  do
    count = ::poll(&ended, 1, milliseconds_until(deadline));
  while (count < 0 && errno == EINTR);
  ::close(descriptor);
  return count > 0;
}

void end_group(pid_t leader) {
  // mpirun, told to end, ends the processes that it started in groups of their own.
  ::kill(-leader, SIGTERM);
  if (!has_ended(leader, clock::now() + std::chrono::seconds{5}))
    ::kill(-leader, SIGKILL);
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
  auto const deadline = clock::now() + limit;
  result.timed_out = !read_all(pipe[0], deadline, result.output) || !has_ended(child, deadline);
  ::close(pipe[0]);
  if (result.timed_out)
    end_group(child);
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

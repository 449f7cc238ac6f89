// SPDX-License-Identifier: Apache-2.0
#include "child_process.hpp"

#include "file_size_signal.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace quarry::command {
namespace {

error cannot_start(std::string const& program, int code) {
  auto const condition = std::error_code(code, std::generic_category());
  return {condition, fmt::format("cannot start '{}': {}", program, condition.message())};
}

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

/// Our environment with `added` in it; the pointers borrow from both.
std::vector<char*> environment_with(std::vector<std::string> const& added) {
  std::vector<char*> lines;
  for (char** ours = ::environ; *ours != nullptr; ++ours) {
    bool is_replaced = false;
    for (auto const& line : added)
      is_replaced = is_replaced || name_of(line) == name_of(*ours);
    if (!is_replaced)
      lines.push_back(*ours);
  }
  for (auto const& line : added)
    lines.push_back(const_cast<char*>(line.c_str()));
  lines.push_back(nullptr);
  return lines;
}

std::vector<char*> arguments_of(std::vector<std::string> const& program) {
  std::vector<char*> arguments;
  arguments.reserve(program.size() + 1);
  for (auto const& argument : program)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  return arguments;
}

/// dup2 that also clears close-on-exec where the number does not change.
bool becomes(int fd, int wanted) {
  return fd == wanted ? ::fcntl(fd, F_SETFD, 0) == 0 : ::dup2(fd, wanted) >= 0;
}

/// In the child, between fork and exec: system calls only. Returns if something failed.
void turn_into(child_request const& request, char* const* arguments, char* const* environment,
               pid_t parent) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    return;
  if (::getppid() != parent) // it died before we asked to be told
    ::_exit(127);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGCHLD, SIG_DFL);
  restore_file_size_signal();
  if (::sigprocmask(SIG_SETMASK, &request.signal_mask, nullptr) != 0)
    return;
  if (request.inherited_fd >= 0 && ::fcntl(request.inherited_fd, F_SETFD, 0) != 0)
    return;
  if (becomes(request.input_fd, STDIN_FILENO) && becomes(request.output_fd, STDOUT_FILENO) &&
      becomes(request.error_fd, STDERR_FILENO))
    ::execvpe(arguments[0], arguments, environment);
}

/// The errno that the child leaves in the pipe if it cannot start the program; 0 if it could,
/// because exec closes the other end.
int failure_from(int pipe_end) {
  int code = 0;
  ssize_t got = 0;
  do
    got = ::read(pipe_end, &code, sizeof code);
  while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof code) ? code : 0;
}

pid_t wait_for(pid_t pid, int& status, int options) {
  pid_t got = 0;
  do
    got = ::waitpid(pid, &status, options);
  while (got < 0 && errno == EINTR);
  return got;
}

} // namespace

std::string to_string(child_end const& end) {
  if (end.signal != 0)
    return fmt::format("died of signal {} ({})", end.signal, ::strsignal(end.signal));
  return fmt::format("ended with exit status {}", end.exit_status);
}

result<child_process> child_process::start(child_request const& request) {
  auto const arguments = arguments_of(request.program);
  auto const environment = environment_with(request.environment);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) { // ours: nothing is wrong with the program
    auto const condition = std::error_code(errno, std::generic_category());
    return error{condition, fmt::format("cannot make a pipe to start '{}': {}", request.program[0],
                                        condition.message())};
  }
  pid_t const parent = ::getpid();
  pid_t const pid = ::fork();
  if (pid == 0) {
    turn_into(request, arguments.data(), environment.data(), parent);
    int const code = errno;
    [[maybe_unused]] auto const ignored = ::write(report[1], &code, sizeof code);
    ::_exit(127);
  }
  int const fork_failure = pid < 0 ? errno : 0;
  ::close(report[1]);
  int const code = pid < 0 ? fork_failure : failure_from(report[0]);
  ::close(report[0]);
  if (code == 0)
    return child_process(pid);
  int ignored = 0;
  if (pid > 0)
    wait_for(pid, ignored, 0);
  return cannot_start(request.program[0], code);
}

child_process::child_process(child_process&& other) noexcept
    : pid_(other.pid_), is_running_(std::exchange(other.is_running_, false)) {}

child_process::~child_process() {
  if (!is_running_)
    return;
  send(SIGKILL);
  int ignored = 0;
  wait_for(pid_, ignored, 0);
}

std::optional<child_end> child_process::try_join() {
  int status = 0;
  if (!is_running_ || wait_for(pid_, status, WNOHANG) != pid_)
    return std::nullopt;
  is_running_ = false;
  if (WIFSIGNALED(status))
    return child_end{.signal = WTERMSIG(status)};
  return child_end{.exit_status = WEXITSTATUS(status)};
}

void child_process::send(int signal) const {
  if (is_running_)
    ::kill(pid_, signal);
}

} // namespace quarry::command

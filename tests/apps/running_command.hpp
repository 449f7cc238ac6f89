// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/sanitizers.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

/// A program under test: its output is kept, its end is awaited for a bounded time, and whatever
/// processes it leaves behind are found.
class running_command {
public:
  static constexpr std::chrono::seconds patience{60};

  explicit running_command(std::vector<std::string> const& arguments) {
    // Orphans of the command become our children, so that their end can be awaited.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    int out[2];
    int err[2];
    if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0)
      throw std::runtime_error("cannot make a pipe");
    out_ = out[0];
    err_ = err[0];
    spawn(arguments, out[1], err[1]);
    ::close(out[1]);
    ::close(err[1]);
  }
  running_command(running_command const&) = delete;
  running_command& operator=(running_command const&) = delete;
  ~running_command() {
    ::kill(-pid_, SIGKILL);
    while (::waitpid(-pid_, nullptr, 0) > 0 || errno == EINTR)
      ;
    if (out_ >= 0)
      ::close(out_);
    ::close(err_);
  }

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::string const& out() const { return out_text_; }
  [[nodiscard]] std::string const& err() const { return err_text_; }

  /// Reads until `text` has come `count` times on standard output.
  void await_output(std::string const& text, std::size_t count) { await(out_text_, text, count); }
  /// The same on standard error.
  void await_error(std::string const& text, std::size_t count) { await(err_text_, text, count); }

  /// Nobody reads standard output any more.
  void stop_reading_output() {
    ::close(std::exchange(out_, -1));
    out_ended_ = true;
  }

  /// Reads to the end of the output. What the command's exit status is, or 128 + its signal.
  [[nodiscard]] int status() {
    while (read_more())
      ;
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  /// After status(): whether a process of the command's group is still there. ThreadSanitizer's
  /// symbolizer, which looks at what is to be suppressed, ends soon after the command.
  [[nodiscard]] bool has_survivors() const {
    if constexpr (QUARRY_TSAN != 0)
      static_cast<void>(signals_of_orphans());
    return ::kill(-pid_, 0) == 0;
  }

  /// After status(): the signals that orphans of the command died of. Blocks until all have ended.
  [[nodiscard]] std::vector<int> signals_of_orphans() const {
    std::vector<int> signals;
    int status = 0;
    for (pid_t got = 0; (got = ::waitpid(-pid_, &status, 0)) > 0 || errno == EINTR;)
      if (got > 0)
        signals.push_back(WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return signals;
  }

  [[nodiscard]] static std::size_t occurrences(std::string const& where, std::string const& what) {
    std::size_t count = 0;
    for (auto at = where.find(what); at != std::string::npos; at = where.find(what, at + 1))
      ++count;
    return count;
  }

private:
  void await(std::string const& where, std::string const& text, std::size_t count) {
    while (occurrences(where, text) < count)
      if (!read_more())
        throw std::runtime_error("the command ended early: " + out_text_ + err_text_);
  }

  void spawn(std::vector<std::string> const& arguments, int out, int err) {
    std::vector<char*> pointers;
    for (auto const& argument : arguments)
      pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, out, 1);
    ::posix_spawn_file_actions_adddup2(&actions, err, 2);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    ::posix_spawnattr_setpgroup(&attributes, 0); // a group of its own
    sigset_t defaults; // whatever the tests were started to ignore, as in the background
    sigemptyset(&defaults);
    for (int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE})
      sigaddset(&defaults, signal);
    ::posix_spawnattr_setsigdefault(&attributes, &defaults);
    int const code =
        ::posix_spawnp(&pid_, pointers[0], &actions, &attributes, pointers.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    if (code != 0)
      throw std::runtime_error("cannot start " + arguments[0]);
  }

  /// False when both outputs have ended.
  bool read_more() {
    pollfd inputs[]{{.fd = out_ended_ ? -1 : out_, .events = POLLIN, .revents = 0},
                    {.fd = err_ended_ ? -1 : err_, .events = POLLIN, .revents = 0}};
    if (out_ended_ && err_ended_)
      return false;
    auto const left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline_ - std::chrono::steady_clock::now());
    if (left.count() <= 0 || ::poll(inputs, 2, static_cast<int>(left.count())) == 0)
      throw std::runtime_error("the command hangs: " + out_text_ + err_text_);
    if (inputs[0].revents != 0)
      out_ended_ = !append(out_, out_text_);
    if (inputs[1].revents != 0)
      err_ended_ = !append(err_, err_text_);
    return true;
  }

  static bool append(int fd, std::string& text) {
    char buffer[4096];
    auto const got = ::read(fd, buffer, sizeof buffer);
    text.append(buffer, static_cast<std::size_t>(got > 0 ? got : 0));
    return got > 0;
  }

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  bool out_ended_ = false;
  bool err_ended_ = false;
  std::string out_text_;
  std::string err_text_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::now() + patience;
};

/// What a command leaves behind that runs to its end.
struct command_outcome {
  int status = 0;
  std::string out;
  std::string err;

  [[nodiscard]] bool says(std::string const& text) const {
    return out.find(text) != std::string::npos || err.find(text) != std::string::npos;
  }
};

/// Runs the program that the environment variable `variable` names (Meson sets it).
[[nodiscard]] inline command_outcome run_command(char const* variable,
                                                 std::vector<std::string> arguments) {
  char const* program = std::getenv(variable);
  REQUIRE_MESSAGE(program != nullptr, variable, " is not set; run this by meson test");
  arguments.insert(arguments.begin(), program);
  running_command command(arguments);
  int const status = command.status();
  CHECK_FALSE(command.has_survivors());
  return {status, command.out(), command.err()};
}

/// Of what processes have said side by side.
[[nodiscard]] inline std::vector<std::string> sorted_lines(std::string const& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

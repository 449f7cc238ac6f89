// SPDX-License-Identifier: Apache-2.0
#include "debian_parser.hpp"
#include "text.hpp"

#include <quarry/graph/debian.hpp>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace quarry::graph {
namespace {

struct file_closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using file = std::unique_ptr<std::FILE, file_closer>;

error system_error(int code, std::string what) {
  auto const reason = std::error_code(code, std::generic_category());
  return {reason, fmt::format("{}: {}", what, reason.message())};
}

/// A running program and the read end of its standard output. Waited for when destroyed.
class child {
public:
  [[nodiscard]] static result<child> start(std::string const& program, char const* argument);

  child(child&& other) noexcept
      : output_(std::move(other.output_)), id_(std::exchange(other.id_, -1)) {}
  child& operator=(child&&) = delete;
  ~child() {
    if (id_ > 0)
      static_cast<void>(wait());
  }

  [[nodiscard]] std::FILE* output() const { return output_.get(); }

  /// Closes the pipe, so that a program that still writes ends, and returns its wait status.
  [[nodiscard]] int wait() {
    output_.reset();
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    id_ = -1;
    return status;
  }

private:
  child(file output, pid_t id) : output_(std::move(output)), id_(id) {}

  file output_;
  pid_t id_;
};

result<child> child::start(std::string const& program, char const* argument) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return system_error(errno, "cannot make a pipe for " + program);
  file output(::fdopen(ends[0], "r"));
  if (output == nullptr) {
    auto const code = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    return system_error(code, "cannot open the pipe of " + program);
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string name = program;
  std::string first = argument;
  std::array<char*, 3> arguments{name.data(), first.data(), nullptr};
  pid_t id = -1;
  int const code =
      ::posix_spawnp(&id, program.c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]); // ours: the pipe ends when the program's copy is closed
  if (code != 0)
    return system_error(code, fmt::format("cannot run {} {}", program, argument));
  return child(std::move(output), id);
}

/// Hands every line to the parser, up to the end of the output.
result<void> read_lines(std::FILE* input, debian_parser& parser, std::string const& command) {
  std::unique_ptr<char, decltype(&std::free)> owner(nullptr, &std::free);
  char* line = nullptr;
  std::size_t capacity = 0;
  for (;;) {
    errno = 0;
    ssize_t const length = ::getline(&line, &capacity, input);
    static_cast<void>(owner.release()); // getline may have moved it
    owner.reset(line);
    if (length < 0)
      break;
    std::string_view text(line, static_cast<std::size_t>(length));
    if (text.ends_with('\n'))
      text.remove_suffix(1);
    if (auto taken = parser.line(text); !taken)
      return taken;
  }
  if (std::ferror(input) != 0)
    return system_error(errno, "cannot read the output of " + command);
  return {};
}

result<void> check_status(int status, std::string const& command) {
  if (WIFSIGNALED(status))
    return make_error(std::errc::io_error,
                      fmt::format("{} was ended by signal {}", command, WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    return make_error(std::errc::io_error,
                      fmt::format("{} ended with status {}", command, WEXITSTATUS(status)));
  return {};
}

} // namespace

result<debian_graph> read_apt_packages(std::string const& program) {
  std::string const command = program + " dumpavail";
  auto running = child::start(program, "dumpavail");
  if (!running)
    return running.error();
  debian_parser parser(command);
  auto const read = read_lines(running->output(), parser, command);
  if (!read)
    return read.error();
  // A program that failed half-way has printed a list that only looks complete.
  if (auto const ended = check_status(running->wait(), command); !ended)
    return ended.error();
  if (parser.is_empty())
    return make_error(std::errc::no_message,
                      command + " printed nothing; 'apt-get update' fetches the package lists");
  return parser.finish();
}

} // namespace quarry::graph

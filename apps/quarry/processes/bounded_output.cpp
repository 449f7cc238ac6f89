// SPDX-License-Identifier: Apache-2.0
#include "bounded_output.hpp"

#include <climits>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace quarry::command {
namespace {

/// Opened once more, the master's end of a terminal would be another terminal.
bool is_terminal(int fd) {
  char name[64];
  return ::isatty(fd) != 0 && ::ptsname_r(fd, name, sizeof name) != 0;
}

/// The pipe or terminal `fd`, non-blocking for us and not for everybody who shares `fd` with us. -1
/// for anything else, or if that is not allowed.
int open_again(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0 || (!S_ISFIFO(info.st_mode) && !is_terminal(fd)))
    return -1;
  auto const name = fmt::format("/proc/self/fd/{}", fd);
  return ::open(name.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

bool has_room(int fd) {
  pollfd now{.fd = fd, .events = POLLOUT, .revents = 0};
  return ::poll(&now, 1, 0) == 1;
}

} // namespace

bounded_output::bounded_output(int target) : target_(target), again_(open_again(target)) {}

void bounded_output::put(std::string_view text) {
  if (!has_lost_reader_ && (!drops_excess_ || waiting_.size() < room))
    waiting_ += text;
}

void bounded_output::flush() {
  std::size_t done = 0;
  while (done < waiting_.size() && has_room(fd())) {
    auto const written = write_some(std::string_view(waiting_).substr(done));
    if (written == 0)
      break;
    done += written;
  }
  waiting_.erase(0, done);
}

/// How much of it need not be written any more; 0: the target has no room after all.
std::size_t bounded_output::write_some(std::string_view text) {
  // A pipe that has room at all takes that much without blocking, should open_again() have failed.
  auto const written = ::write(fd(), text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
  if (written >= 0)
    return static_cast<std::size_t>(written);
  if (errno == EAGAIN || errno == EINTR)
    return 0;
  if (errno == EPIPE)
    has_lost_reader_ = true;
  else if (!loss_)
    loss_ = {errno, std::generic_category()};
  return text.size();
}

} // namespace quarry::command

// SPDX-License-Identifier: Apache-2.0
#include "line_relay.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace quarry::command {
namespace {

void close_if_open(int& fd) {
  if (fd >= 0)
    ::close(std::exchange(fd, -1));
}

/// The whole text, or nothing more can be written there. A target that others have set to
/// non-blocking is waited for. 0, or the errno that says why not.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    auto const done = ::write(fd, text.data(), text.size());
    if (done >= 0) {
      text.remove_prefix(static_cast<std::size_t>(done));
    } else if (errno == EAGAIN) {
      pollfd until{.fd = fd, .events = POLLOUT, .revents = 0};
      ::poll(&until, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

} // namespace

result<line_relay> line_relay::to(int target, std::string prefix) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    auto const code = std::error_code(errno, std::generic_category());
    return error{code, "cannot make a pipe for a node's output: " + code.message()};
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK); // our end only: the child's stays as programs expect it
  return line_relay(ends[0], ends[1], target, std::move(prefix));
}

line_relay::line_relay(int reader, int writer, int target, std::string prefix)
    : reader_(reader), writer_(writer), target_(target), prefix_(std::move(prefix)) {}

line_relay::line_relay(line_relay&& other) noexcept
    : reader_(std::exchange(other.reader_, -1)), writer_(std::exchange(other.writer_, -1)),
      target_(other.target_), prefix_(std::move(other.prefix_)),
      has_lost_reader_(other.has_lost_reader_), pending_(std::move(other.pending_)) {}

line_relay::~line_relay() {
  close_if_open(reader_);
  close_if_open(writer_);
}

void line_relay::close_writer() {
  close_if_open(writer_);
}

void line_relay::pump() {
  // Bounded, so that one child that never stops talking does not silence the others.
  constexpr int reads_per_turn = 16;
  std::array<char, 65536> buffer;
  for (int turn = 0; turn < reads_per_turn && reader_ >= 0; ++turn) {
    auto const got = ::read(reader_, buffer.data(), buffer.size());
    if (got > 0) {
      pending_.append(buffer.data(), static_cast<std::size_t>(got));
      flush_lines();
    } else if (got == 0) {
      close_if_open(reader_);
    } else if (errno != EINTR) {
      return;
    }
  }
}

void line_relay::finish() {
  pump();
  if (!pending_.empty())
    hand_on(std::exchange(pending_, {}) + '\n');
}

void line_relay::flush_lines() {
  auto const end = pending_.rfind('\n');
  if (end != std::string::npos) {
    hand_on(std::string_view(pending_).substr(0, end + 1));
    pending_.erase(0, end + 1);
  }
  if (pending_.size() > longest_line)
    hand_on(std::exchange(pending_, {}) + '\n');
}

void line_relay::hand_on(std::string_view lines) {
  std::string text;
  while (!lines.empty()) {
    auto const end = lines.find('\n') + 1;
    text.append(prefix_).append(lines.substr(0, end));
    lines.remove_prefix(end);
  }
  if (write_all(target_, text) == EPIPE)
    has_lost_reader_ = true;
}

} // namespace quarry::command

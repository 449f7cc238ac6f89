// SPDX-License-Identifier: Apache-2.0
#include "line_relay.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace quarry::command {
namespace {

void close_if_open(int& fd) {
  if (fd >= 0)
    ::close(std::exchange(fd, -1));
}

// Bounded, so that one child that never stops talking does not silence the others.
constexpr int reads_per_turn = 16;

} // namespace

result<line_relay> line_relay::make(std::string prefix) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    auto const code = std::error_code(errno, std::generic_category());
    return error{code, "cannot make a pipe for a node's output: " + code.message()};
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK); // our end only: the child's stays as programs expect it
  return line_relay(ends[0], ends[1], std::move(prefix));
}

line_relay::line_relay(int reader, int writer, std::string prefix)
    : reader_(reader), writer_(writer), prefix_(std::move(prefix)) {}

line_relay::line_relay(line_relay&& other) noexcept
    : reader_(std::exchange(other.reader_, -1)), writer_(std::exchange(other.writer_, -1)),
      prefix_(std::move(other.prefix_)), pending_(std::move(other.pending_)) {}

line_relay::~line_relay() {
  close_if_open(reader_);
  close_if_open(writer_);
}

void line_relay::close_writer() {
  close_if_open(writer_);
}

void line_relay::pump(bounded_output& to) {
  for (int turn = 0; turn < reads_per_turn && !to.is_full() && read_some(to); ++turn)
    ;
}

void line_relay::finish(bounded_output& to) {
  for (int turn = 0; turn < reads_per_turn && read_some(to); ++turn)
    ;
  if (!pending_.empty())
    hand_on(std::exchange(pending_, {}) + '\n', to);
}

/// False if there is nothing to read, now or ever.
bool line_relay::read_some(bounded_output& to) {
  std::array<char, 65536> buffer;
  ssize_t got = 0;
  do
    got = ::read(reader_, buffer.data(), buffer.size());
  while (got < 0 && errno == EINTR);
  if (got == 0)
    close_if_open(reader_);
  if (got <= 0)
    return false;
  pending_.append(buffer.data(), static_cast<std::size_t>(got));
  flush_lines(to);
  return true;
}

void line_relay::flush_lines(bounded_output& to) {
  auto const end = pending_.rfind('\n');
  if (end != std::string::npos) {
    hand_on(std::string_view(pending_).substr(0, end + 1), to);
    pending_.erase(0, end + 1);
  }
  if (pending_.size() > longest_line)
    hand_on(std::exchange(pending_, {}) + '\n', to);
}

void line_relay::hand_on(std::string_view lines, bounded_output& to) const {
  std::string text;
  while (!lines.empty()) {
    auto const end = lines.find('\n') + 1;
    text.append(prefix_).append(lines.substr(0, end));
    lines.remove_prefix(end);
  }
  to.put(text);
}

} // namespace quarry::command

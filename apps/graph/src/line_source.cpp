// SPDX-License-Identifier: Apache-2.0
#include "line_source.hpp"

#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace quarry::graph {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

} // namespace

result<line_source> line_source::open(std::filesystem::path const& path) {
  errno = 0;
  gzFile const file = ::gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    auto const code = std::error_code(errno != 0 ? errno : ENOMEM, std::generic_category());
    return error{code, fmt::format("cannot open {}: {}", path.string(), code.message())};
  }
  ::gzbuffer(file, 256 * 1024);
  return line_source(file, path.string());
}

line_source::line_source(gzFile file, std::string name)
    : file_(file), name_(std::move(name)), buffer_(buffer_bytes) {}

bool line_source::next(std::string_view& line) {
  std::size_t searched = 0;
  for (;;) {
    char const* const from = buffer_.data() + begin_;
    std::size_t const unread = end_ - begin_;
    auto const* feed =
        static_cast<char const*>(std::memchr(from + searched, '\n', unread - searched));
    if (feed == nullptr && !at_end_ && !failure_) {
      searched = unread;
      refill();
      continue;
    }
    if (feed == nullptr && (failure_ || unread == 0))
      return false;
    line = {from, feed != nullptr ? static_cast<std::size_t>(feed - from) : unread};
    begin_ += line.size() + (feed != nullptr);
    ++line_number_;
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    return true;
  }
}

void line_source::refill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (end_ == buffer_.size()) {
    failure_ = malformed(name_, line_number_ + 1,
                         fmt::format("the line is longer than {} bytes", buffer_.size()));
    return;
  }
  int const count =
      ::gzread(file_.get(), buffer_.data() + end_, static_cast<unsigned>(buffer_.size() - end_));
  if (count > 0)
    end_ += static_cast<std::size_t>(count);
  // A truncated gzip stream ends like a file that is complete; only gzerror() tells them apart.
  int status = Z_OK;
  ::gzerror(file_.get(), &status);
  if (count < 0 || status == Z_BUF_ERROR)
    fail_reading();
  else if (count == 0)
    at_end_ = true;
}

void line_source::fail_reading() {
  int status = Z_OK;
  int const system_error = errno;
  std::string const reason = ::gzerror(file_.get(), &status);
  // Whole lines that came before are still handed out.
  auto const unread = std::string_view(buffer_.data(), end_).substr(begin_);
  auto const line =
      line_number_ + 1 + static_cast<std::uint64_t>(std::count(unread.begin(), unread.end(), '\n'));
  if (status == Z_ERRNO) {
    auto const code = std::error_code(system_error, std::generic_category());
    failure_ = error{code, fmt::format("cannot read {}: {}", name_, code.message())};
  } else if (status == Z_BUF_ERROR) {
    failure_ = malformed(name_, line, "the gzip stream is truncated");
  } else {
    failure_ = malformed(name_, line, "the gzip stream is corrupt: " + reason);
  }
}

} // namespace quarry::graph

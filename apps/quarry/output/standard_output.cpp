// SPDX-License-Identifier: Apache-2.0
#include "standard_output.hpp"

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

namespace quarry::command {
namespace {

int first_reason = 0; // no thread but the main one prints

/// False: something could not be written, now or before.
bool flush() noexcept {
  errno = 0;
  bool const is_flushed = std::fflush(stdout) == 0;
  if (!is_flushed && first_reason == 0)
    first_reason = errno;
  return is_flushed && std::ferror(stdout) == 0;
}

} // namespace

void print(std::string_view text) noexcept {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && first_reason == 0)
    first_reason = errno;
  flush();
}

result<void> all_printed() {
  if (flush())
    return {};
  std::string const what = "standard output: cannot write";
  if (first_reason == 0) // by iostreams, which keep no reason
    return error{std::make_error_code(std::errc::io_error), what};
  std::error_code const why(first_reason, std::generic_category());
  return error{why, what + ": " + why.message()};
}

} // namespace quarry::command

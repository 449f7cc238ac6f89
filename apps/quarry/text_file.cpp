// SPDX-License-Identifier: Apache-2.0
#include "text_file.hpp"

#include <cerrno>
#include <cstdio>
#include <memory>

namespace quarry::command {

result<void> write_text(std::string const& file, std::string_view text) {
  errno = 0;
  bool is_written = false;
  if (std::FILE* stream = std::fopen(file.c_str(), "w")) {
    is_written = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
    int const code = errno;
    is_written = std::fclose(stream) == 0 && is_written; // a full disk may show only here
    errno = errno != 0 ? errno : code;
  }
  if (is_written)
    return {};
  auto const code = std::error_code(errno != 0 ? errno : EIO, std::generic_category());
  return error{code, file + ": cannot write: " + code.message()};
}

} // namespace quarry::command

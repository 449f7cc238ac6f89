// SPDX-License-Identifier: Apache-2.0
#include "text_file.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace quarry::command {
namespace {

error cannot_write(std::string const& file, int code) {
  std::error_code const why(code != 0 ? code : EIO, std::generic_category());
  return {why, file + ": cannot write: " + why.message()};
}

} // namespace

result<void> check_writable(std::string const& file) {
  if (file.empty())
    return {};
  struct stat info{};
  bool is_writable = false;
  if (::stat(file.c_str(), &info) == 0) {
    errno = EISDIR;
    is_writable = !S_ISDIR(info.st_mode) && ::access(file.c_str(), W_OK) == 0;
  } else if (errno == ENOENT) {
    auto const folder = std::filesystem::path(file).parent_path();
    is_writable = ::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0;
  }
  if (is_writable)
    return {};
  return cannot_write(file, errno);
}

result<void> write_text(std::string const& file, std::string_view text) {
  errno = 0;
  std::FILE* const stream = std::fopen(file.c_str(), "w");
  bool is_written = false;
  if (stream != nullptr) {
    is_written = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
    int const code = errno;
    is_written = std::fclose(stream) == 0 && is_written; // a full disk may show only here
    errno = errno != 0 ? errno : code;
  }
  if (is_written)
    return {};
  int const code = errno;
  std::error_code none;
  if (stream != nullptr &&
      std::filesystem::is_regular_file(std::filesystem::symlink_status(file, none)))
    std::filesystem::remove(file, none); // nobody takes what is broken for the whole
  return cannot_write(file, code);
}

} // namespace quarry::command

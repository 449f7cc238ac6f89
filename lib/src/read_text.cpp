// SPDX-License-Identifier: Apache-2.0
#include <quarry/read_text.hpp>

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <memory>

namespace quarry {

result<std::string> read_text(std::filesystem::path const& file, std::size_t most_bytes) {
  errno = 0;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const stream(std::fopen(file.c_str(), "rb"),
                                                               &std::fclose);
  std::string text;
  if (stream) {
    char part[1U << 14];
    while (auto const got = std::fread(part, 1, sizeof part, stream.get())) {
      text.append(part, got);
      if (text.size() > most_bytes)
        return error{std::make_error_code(std::errc::file_too_large),
                     fmt::format("it has more than {} bytes", most_bytes)};
    }
    if (std::ferror(stream.get()) == 0)
      return text;
  }
  std::error_code const why(errno != 0 ? errno : EIO, std::generic_category());
  return error{why, why.message()};
}

} // namespace quarry

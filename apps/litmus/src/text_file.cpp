// SPDX-License-Identifier: Apache-2.0
#include "text_file.hpp"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>

namespace quarry::litmus {

result<std::string> read_text(std::filesystem::path const& file) {
  std::string text;
  errno = 0;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const stream(std::fopen(file.c_str(), "rb"),
                                                               &std::fclose);
  if (stream) {
    char buffer[16384];
    while (auto const got = std::fread(buffer, 1, sizeof buffer, stream.get())) {
      text.append(buffer, got);
      if (text.size() > most_text_bytes)
        return error{std::make_error_code(std::errc::file_too_large),
                     "cannot read " + file.string() + ": more than " +
                         std::to_string(most_text_bytes >> 20) + " MiB are no litmus test"};
    }
    if (std::ferror(stream.get()) == 0)
      return text;
  }
  auto const code = std::error_code(errno != 0 ? errno : EIO, std::generic_category());
  return error{code, "cannot read " + file.string() + ": " + code.message()};
}

} // namespace quarry::litmus

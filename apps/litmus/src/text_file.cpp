// SPDX-License-Identifier: Apache-2.0
#include "text_file.hpp"

#include <quarry/read_text.hpp>

#include <fmt/core.h>

namespace quarry::litmus {

result<std::string> read_text(std::filesystem::path const& file) {
  auto text = quarry::read_text(file, most_text_bytes);
  if (text)
    return text;
  auto const& [code, what] = text.error();
  return error{code, fmt::format("cannot read {}: {}", file.string(),
                                 code == std::errc::file_too_large
                                     ? fmt::format("more than {} MiB are no litmus test",
                                                   most_text_bytes >> 20)
                                     : what)};
}

} // namespace quarry::litmus

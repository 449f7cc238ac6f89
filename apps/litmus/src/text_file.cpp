// SPDX-License-Identifier: Apache-2.0
#include "text_file.hpp"

#include <quarry/read_text.hpp>

#include <fmt/core.h>

namespace quarry::litmus {

result<std::string> read_text(std::filesystem::path const& file, text_kind const& what) {
  auto text = quarry::read_text(file, what.most_bytes);
  if (text)
    return text;
  auto const& [code, why] = text.error();
  return error{
      code, fmt::format("cannot read {}: {}", file.string(),
                        code == std::errc::file_too_large
                            ? fmt::format("{} has {} KiB at most", what.name, what.most_bytes >> 10)
                            : why)};
}

} // namespace quarry::litmus

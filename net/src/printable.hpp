// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cctype>
#include <cstddef>
#include <span>
#include <string>

namespace quarry::net {

/// A text that another process has sent, which may be anything, as one that a terminal can show.
[[nodiscard]] inline std::string printable(std::span<std::byte const> text) {
  std::string shown;
  for (std::byte const b : text)
    shown +=
        std::isprint(static_cast<int>(b)) != 0 || b == std::byte{'\n'} ? static_cast<char>(b) : '?';
  return shown;
}

} // namespace quarry::net

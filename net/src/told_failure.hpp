// SPDX-License-Identifier: Apache-2.0
#pragma once

// How pes tell each other why a job has failed: a code and a text, on whatever way.

#include <quarry/net/error.hpp>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace quarry::net {

/// What others are told of an error: a net_errc. To them, who has another one is lost.
[[nodiscard]] inline int told_code(error const& e) noexcept {
  return e.code.category() == net_category() ? e.code.value()
                                             : static_cast<int>(net_errc::peer_lost);
}

/// Whether what another process has sent is a net_errc.
[[nodiscard]] constexpr bool is_net_errc(std::uint64_t code) noexcept {
  return code != 0 && code <= static_cast<std::uint64_t>(net_errc::bad_environment);
}

/// A text that another process has sent, which may be anything, as one that a terminal can show.
[[nodiscard]] inline std::string printable(std::span<std::byte const> text) {
  std::string shown;
  for (std::byte const b : text)
    shown +=
        std::isprint(static_cast<int>(b)) != 0 || b == std::byte{'\n'} ? static_cast<char>(b) : '?';
  return shown;
}

} // namespace quarry::net

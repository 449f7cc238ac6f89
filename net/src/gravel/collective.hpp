// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace quarry::net::gravel {

/// What all nodes call together; the first byte of what a node gives to a gather.
enum class collective : std::uint8_t { all_gather = 1, all_sum, barrier, finish };

[[nodiscard]] constexpr bool is_collective(std::byte what) noexcept {
  return what >= std::byte(collective::all_gather) && what <= std::byte(collective::finish);
}

[[nodiscard]] constexpr char const* to_string(collective c) noexcept {
  switch (c) {
  case collective::all_gather:
    return "all_gather";
  case collective::all_sum:
    return "all_sum";
  case collective::barrier:
    return "barrier";
  case collective::finish:
    return "finish";
  }
  return "an unknown collective";
}

} // namespace quarry::net::gravel

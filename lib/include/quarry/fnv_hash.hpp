// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace quarry {

/// The same on every machine: for what is kept in files, or sent to other processes. It tells what
/// was changed by chance from what was not, and keeps no secret.
///
/// Source   Fowler, Noll, Vo: FNV-1a, 64 bits
[[nodiscard]] constexpr std::uint64_t fnv_hash(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  for (char const c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3;
  return hash;
}

} // namespace quarry

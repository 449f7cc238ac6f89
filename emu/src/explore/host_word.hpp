// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

namespace quarry::emu {

/// What stands in memory at an address of the explored program, 1 to 8 bytes.
[[nodiscard]] inline std::uint64_t host_word(std::uintptr_t at, unsigned bytes) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, reinterpret_cast<void const*>(at), bytes); // NOLINT: memory of the execution
  return word;
}

} // namespace quarry::emu

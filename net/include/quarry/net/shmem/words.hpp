// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace quarry::net::shmem {

/// f(T{}) for the unsigned T of `bytes` bytes. Shape    bytes is 1, 2, 4 or 8
template<class F>
void for_width(std::size_t bytes, F const& f) {
  switch (bytes) {
  case 1:
    return f(std::uint8_t{});
  case 2:
    return f(std::uint16_t{});
  case 4:
    return f(std::uint32_t{});
  default:
    return f(std::uint64_t{});
  }
}

/// f(T{}, offset) for each of the aligned words that make up a range, as large as they can be.
template<class F>
void for_words(std::byte const* at, std::size_t bytes, F const& f) {
  for (std::size_t i = 0; i < bytes;) {
    std::size_t width = 8;
    while (width > bytes - i || reinterpret_cast<std::uintptr_t>(at + i) % width != 0)
      width /= 2;
    for_width(width, [&](auto word) { f(word, i); });
    i += width;
  }
}

} // namespace quarry::net::shmem

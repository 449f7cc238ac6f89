// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace quarry::emu {

// A clock has as many entries as there are actors, and then zeros: whole blocks.
inline constexpr std::size_t clock_block = 8;

constexpr std::size_t in_blocks(std::size_t actors) noexcept {
  return (actors + clock_block - 1) / clock_block * clock_block;
}

inline void copy_blocks(std::uint32_t* to, std::uint32_t const* from, std::size_t length) noexcept {
  for (; length != 0; length -= clock_block, to += clock_block, from += clock_block)
    std::memcpy(to, from, clock_block * sizeof(*to));
}

// Not inlined: its vectors would have their callers align their stacks.
[[gnu::noinline]] inline void join_blocks(std::uint32_t* to, std::uint32_t const* from,
                                          std::size_t length) noexcept {
  for (; length != 0; length -= clock_block, to += clock_block, from += clock_block)
    for (std::size_t i = 0; i < clock_block; ++i)
      to[i] = std::max(to[i], from[i]);
}

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quarry::sort {

/// What is sorted without being divided again (thesis §4.5.1).
constexpr std::size_t base_size = 64;
/// What is merged without being divided again.
constexpr std::size_t merge_base = 4096;

/// A value that only its place and the seed decide.
///
/// Source   Steele, Lea, Flood: splitmix64
[[nodiscard]] constexpr std::uint32_t value_at(std::uint64_t seed, std::uint64_t i) noexcept {
  std::uint64_t x = (seed + i + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return static_cast<std::uint32_t>((x ^ (x >> 31)) >> 32);
}

/// What is to be sorted.
[[nodiscard]] inline std::vector<std::uint32_t> values(std::size_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> made(count);
  for (std::size_t i = 0; i < count; ++i)
    made[i] = value_at(seed, i);
  return made;
}

} // namespace quarry::sort

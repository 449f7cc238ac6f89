// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/random_bits.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quarry::sort {

/// What is sorted without being divided again (thesis §4.5.1).
constexpr std::size_t base_size = 64;
/// What is merged without being divided again.
constexpr std::size_t merge_base = 4096;

/// A value that only its place and the seed decide.
[[nodiscard]] constexpr std::uint32_t value_at(std::uint64_t seed, std::uint64_t i) noexcept {
  return static_cast<std::uint32_t>(random_bits::at(0, seed + i) >> 32);
}

/// What is to be sorted.
[[nodiscard]] inline std::vector<std::uint32_t> values(std::size_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> made(count);
  for (std::size_t i = 0; i < count; ++i)
    made[i] = value_at(seed, i);
  return made;
}

} // namespace quarry::sort

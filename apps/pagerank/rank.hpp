// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace quarry::pagerank {

/// A rank as a fixed-point number: the sum of all ranks is `one`. Sums are exact and do not depend
/// on their order, so that every number of nodes and every schedule gives the same bits.
using fixed = std::uint64_t;
inline constexpr fixed one = fixed{1} << 60;

[[nodiscard]] inline double to_double(fixed r) noexcept {
  return static_cast<double>(r) / static_cast<double>(one);
}

/// Damping 0.85 (Brin and Page) as a fraction that keeps integer products below 2^64.
[[nodiscard]] constexpr fixed damped(fixed r) noexcept {
  return r / 100 * 85;
}

/// What a vertex gets in each round whatever links to it: the undamped rest, and its share of what
/// vertices without out-edges hold.
[[nodiscard]] constexpr fixed base_rank(fixed dangling, std::uint64_t vertex_count) noexcept {
  return (one - damped(one)) / vertex_count + damped(dangling) / vertex_count;
}

} // namespace quarry::pagerank

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/random_bits.hpp>

#include <array>
#include <bit>
#include <cstdint>

namespace quarry::graph {

/// xoshiro256** 1.0 (Blackman, Vigna), seeded through splitmix64: the same numbers on each
/// compiler.
class random_stream {
public:
  explicit random_stream(std::uint64_t seed) {
    random_bits seeds(seed);
    for (auto& word : state_)
      word = seeds();
  }

  std::uint64_t next() {
    std::uint64_t const value = std::rotl(state_[1] * 5, 7) * 9;
    std::uint64_t const shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return value;
  }

  /// A number below `bound` ≥ 1, each equally likely (Lemire 2019: multiply, reject the remainder).
  std::uint32_t below(std::uint32_t bound) {
    std::uint32_t const rejected = -bound % bound;
    for (;;) {
      std::uint64_t const product = (next() >> 32) * bound;
      if (static_cast<std::uint32_t>(product) >= rejected)
        return static_cast<std::uint32_t>(product >> 32);
    }
  }

private:
  std::array<std::uint64_t, 4> state_;
};

} // namespace quarry::graph

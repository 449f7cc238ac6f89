// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace quarry {

/// Random numbers that are the same with every compiler and library, as <random>'s distributions
/// are not.
///
/// Source   Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA'14
class random_bits {
public:
  explicit random_bits(std::uint64_t seed) noexcept : state_(seed) {}

  /// 64 of them.
  std::uint64_t operator()() noexcept { return mixed(state_ += step); }
  /// One of 0 … n - 1, for n >= 1; each as likely as any other, to within n / 2^32.
  std::uint32_t below(std::uint32_t n) noexcept {
    return scaled(static_cast<std::uint32_t>((*this)() >> 32), n);
  }

  /// 32 random bits as one of 0 … n - 1.
  static std::uint32_t scaled(std::uint32_t bits, std::uint32_t n) noexcept {
    return static_cast<std::uint32_t>(std::uint64_t{bits} * n >> 32);
  }
  /// A hash, and a bijection.
  static constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
  }
  /// The i-th number of the stream that begins with `seed`, from 0.
  static constexpr std::uint64_t at(std::uint64_t seed, std::uint64_t i) noexcept {
    return mixed(seed + (i + 1) * step);
  }

private:
  static constexpr std::uint64_t step = 0x9e3779b97f4a7c15;

  std::uint64_t state_;
};

} // namespace quarry

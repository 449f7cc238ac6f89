// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace quarry::fibonacci {

/// The `n`th Fibonacci number by naive recursion: what Figure 4-6 of the thesis does, serially.
///
/// Shape    n from 1; fibonacci(1) and fibonacci(2) are 1
[[nodiscard]] constexpr std::uint64_t reference(std::uint32_t n) noexcept {
  return n <= 2 ? 1 : reference(n - 1) + reference(n - 2);
}

/// The same from the bottom up, for who only needs the number.
[[nodiscard]] constexpr std::uint64_t number(std::uint32_t n) noexcept {
  std::uint64_t last = 0;
  std::uint64_t next = 1;
  for (std::uint32_t i = 1; i < n; ++i) {
    std::uint64_t const sum = last + next;
    last = next;
    next = sum;
  }
  return next;
}

/// How many calls the recursion makes: a leaf for each that it adds up, and one less to join them.
[[nodiscard]] constexpr std::uint64_t calls(std::uint32_t n) noexcept {
  return 2 * number(n) - 1;
}

} // namespace quarry::fibonacci

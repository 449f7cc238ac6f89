// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quarry::strassen {

/// Rows of a matrix that is multiplied without being divided again (thesis §4.5.1).
constexpr std::uint32_t base_size = 16;

/// Small whole numbers: sums and products of them are exact in a float in whatever order they are
/// made, so that every algorithm's answer is the same to the bit.
///
/// Shape    n x n, row by row
[[nodiscard]] inline std::vector<float> matrix(std::uint32_t n, std::uint64_t seed) {
  std::vector<float> made(std::size_t{n} * n);
  std::uint64_t x = seed;
  for (float& value : made) {
    x = x * 6364136223846793005 + 1442695040888963407; // Knuth's MMIX
    value = static_cast<float>(static_cast<int>((x >> 33) % 5) - 2);
  }
  return made;
}

/// A square part of a matrix in memory.
template<class T>
struct part {
  T* first;
  std::size_t stride; ///< elements from one row to the next
  std::uint32_t size; ///< rows, and columns

  /// One of its four quadrants.
  [[nodiscard]] constexpr part quadrant(std::uint32_t row, std::uint32_t column) const noexcept {
    std::uint32_t const half = size / 2;
    return {first + (row * stride + column) * half, stride, half};
  }
  [[nodiscard]] constexpr T* row(std::uint32_t i) const noexcept { return first + i * stride; }
};

/// Of a part that is not divided again: as vector instructions take it, from any address.
struct base_row {
  using vector [[gnu::vector_size(base_size * sizeof(float)), gnu::aligned(alignof(float))]] =
      float;
  vector values;
};
struct base_factors {
  float values[base_size];
};

/// sum + left * right, one row of it. The sum stays in registers.
[[nodiscard]] inline base_row add_row_product(base_factors const& left,
                                              base_row const (&right)[base_size], base_row sum) {
  for (std::uint32_t k = 0; k < base_size; ++k)
    sum.values += left.values[k] * right[k].values;
  return sum;
}

/// One of Strassen's seven products: of a sum of quadrants of A and one of B, added to or taken
/// from quadrants of C. Each weight is -1, 0 or 1, for the quadrants (0,0), (0,1), (1,0), (1,1).
struct product_weights {
  std::int8_t a[4], b[4], c[4];
};

/// Source   Strassen: Gaussian elimination is not optimal, 1969
constexpr product_weights products[7] = {
    {{1, 0, 0, 1}, {1, 0, 0, 1}, {1, 0, 0, 1}},  //
    {{0, 0, 1, 1}, {1, 0, 0, 0}, {0, 0, 1, -1}}, //
    {{1, 0, 0, 0}, {0, 1, 0, -1}, {0, 1, 0, 1}}, //
    {{0, 0, 0, 1}, {-1, 0, 1, 0}, {1, 0, 1, 0}}, //
    {{1, 1, 0, 0}, {0, 0, 0, 1}, {-1, 1, 0, 0}}, //
    {{-1, 0, 1, 0}, {1, 1, 0, 0}, {0, 0, 0, 1}}, //
    {{0, 1, 0, -1}, {0, 0, 1, 1}, {1, 0, 0, 0}}, //
};

} // namespace quarry::strassen

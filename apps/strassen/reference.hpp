// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matrix.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace quarry::strassen {

/// c += a b by the definition, row by row.
inline void add_product(part<float const> a, part<float const> b, part<float> c) {
  for (std::uint32_t i = 0; i < c.size; ++i)
    for (std::uint32_t k = 0; k < c.size; ++k) {
      float const factor = a.row(i)[k];
      float const* const from = b.row(k);
      float* const to = c.row(i);
      for (std::uint32_t j = 0; j < c.size; ++j)
        to[j] += factor * from[j];
    }
}

/// c += a b of parts that are not divided again, as the kernel makes it.
inline void add_base_product(part<float const> a, part<float const> b, part<float> c) {
  auto const load = [](float const* from, auto to) {
    std::memcpy(&to, from, sizeof(to));
    return to;
  };
  base_row right[base_size];
  for (std::uint32_t k = 0; k < base_size; ++k)
    right[k] = load(b.row(k), base_row{});
  for (std::uint32_t i = 0; i < base_size; ++i) {
    base_row const sum =
        add_row_product(load(a.row(i), base_factors{}), right, load(c.row(i), base_row{}));
    std::memcpy(c.row(i), &sum, sizeof(sum));
  }
}

/// The sum of the quadrants of `from` with these weights, to `to`, row after row.
inline void combine(part<float const> from, std::int8_t const (&weight)[4], float* to) {
  std::uint32_t const half = from.size / 2;
  std::fill_n(to, std::size_t{half} * half, 0.0F);
  for (std::uint32_t q = 0; q < 4; ++q) {
    if (weight[q] == 0)
      continue;
    auto const quadrant = from.quadrant(q / 2, q % 2);
    float const sign = weight[q];
    for (std::uint32_t i = 0; i < half; ++i)
      for (std::uint32_t j = 0; j < half; ++j)
        to[std::size_t{i} * half + j] += sign * quadrant.row(i)[j];
  }
}

/// Adds a product to the quadrants of `to` that it belongs to, with its signs.
inline void distribute(float const* product, std::int8_t const (&weight)[4], part<float> to) {
  std::uint32_t const half = to.size / 2;
  for (std::uint32_t q = 0; q < 4; ++q) {
    if (weight[q] == 0)
      continue;
    auto const quadrant = to.quadrant(q / 2, q % 2);
    float const sign = weight[q];
    for (std::uint32_t i = 0; i < half; ++i)
      for (std::uint32_t j = 0; j < half; ++j)
        quadrant.row(i)[j] += sign * product[std::size_t{i} * half + j];
  }
}

/// c += a b by Strassen's algorithm, serially.
///
/// Shape    all of one size, a power of two times base_size
inline void add_product_by_strassen(part<float const> a, part<float const> b, part<float> c) {
  if (c.size == base_size)
    return add_base_product(a, b, c);
  std::uint32_t const half = c.size / 2;
  std::size_t const cells = std::size_t{half} * half;
  std::vector<float> spare(3 * cells);
  float* const product = &spare[2 * cells];
  for (product_weights const& w : products) {
    combine(a, w.a, spare.data());
    combine(b, w.b, &spare[cells]);
    std::fill_n(product, cells, 0.0F);
    add_product_by_strassen({spare.data(), half, half}, {&spare[cells], half, half},
                            {product, half, half});
    distribute(product, w.c, c);
  }
}

/// a b of n x n matrices by the definition.
[[nodiscard]] inline std::vector<float> reference(std::span<float const> a,
                                                  std::span<float const> b, std::uint32_t n) {
  std::vector<float> c(std::size_t{n} * n);
  add_product({a.data(), n, n}, {b.data(), n, n}, {c.data(), n, n});
  return c;
}

} // namespace quarry::strassen

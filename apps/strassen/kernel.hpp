// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matrix.hpp"

#include <quarry/emu/cilk.hpp>

#include <bit>
#include <cstdint>

namespace quarry::strassen {

/// A square part of a matrix in device memory.
struct tile {
  emu::global<float> first;
  std::uint32_t stride;

  [[nodiscard]] tile quadrant(std::uint32_t row, std::uint32_t column,
                              std::uint32_t half) const noexcept {
    return {first + (std::size_t{row} * half * stride + std::size_t{column} * half), stride};
  }
};

/// c += a b: every quadrant of c takes a product, and then the other one.
///
/// Source   thesis §4.5.1: four sub-matrices, each pair multiplied, 37,449 calls for 512 x 512 as
/// in
///          Table 4-3; differs: two products that go to the same place are added one after the
///          other, not atomically
struct call {
  using result = emu::no_result;
  static constexpr std::uint32_t most_spawned = 4;

  tile a, b, c;
  std::uint32_t size;

  void operator()(auto& self) const {
    if (size <= base_size)
      return multiply_here(self.memory());
    spawn_products(self, 0);
  }
  void after_sync(auto& self, emu::first_sync) const {
    spawn_products(self, 1); // its parent waits for them
  }

  /// Levels of the recursion.
  [[nodiscard]] static std::uint32_t depth(std::uint32_t size) noexcept {
    return static_cast<std::uint32_t>(std::bit_width(size / base_size));
  }
  /// How many calls there are for matrices of this size.
  [[nodiscard]] static std::uint64_t calls(std::uint32_t size) noexcept {
    return size <= base_size ? 1 : 1 + 8 * calls(size / 2);
  }

private:
  void spawn_products(auto& self, std::uint32_t k) const {
    std::uint32_t const half = size / 2;
    for (std::uint32_t i = 0; i < 2; ++i)
      for (std::uint32_t j = 0; j < 2; ++j)
        self.spawn(
            call{a.quadrant(i, k, half), b.quadrant(k, j, half), c.quadrant(i, j, half), half});
  }

  template<class Row>
  [[nodiscard]] static emu::global<Row> row_of(tile const& t, std::uint32_t i) noexcept {
    return emu::global(reinterpret_cast<Row*>((t.first + std::size_t{i} * t.stride).get()));
  }
  void multiply_here(auto& memory) const {
    base_row right[base_size];
    for (std::uint32_t k = 0; k < base_size; ++k)
      right[k] = memory.load(row_of<base_row>(b, k));
    for (std::uint32_t i = 0; i < base_size; ++i) {
      auto const to = row_of<base_row>(c, i);
      memory.store(
          to, add_row_product(memory.load(row_of<base_factors>(a, i)), right, memory.load(to)));
    }
  }
};

} // namespace quarry::strassen

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace quarry::gups {

/// Scatters `x` over all 64-bit values, one to one. `Word` is std::uint64_t, or lanes of it.
///
/// Source Steele, Lea, Flood: Fast splittable pseudorandom number generators (splitmix64's
/// finaliser)
template<class Word>
[[nodiscard]] constexpr Word mix64(Word x) noexcept {
  x = (x ^ (x >> 30)) * std::uint64_t{0xbf58476d1ce4e5b9};
  x = (x ^ (x >> 27)) * std::uint64_t{0x94d049bb133111eb};
  return x ^ (x >> 31);
}

/// The shape of a table of 64-bit counters that lies in equal parts on all nodes.
///
/// Shape `node_count` a power of two, `log2_entries_per_node` < 64 - log2(node_count),
///       and the whole table has at least two entries
struct table_shape {
  std::uint32_t node_count;
  std::uint32_t log2_entries_per_node;

  [[nodiscard]] constexpr std::uint64_t entries_per_node() const noexcept {
    return std::uint64_t{1} << log2_entries_per_node;
  }
  [[nodiscard]] constexpr std::uint32_t log2_entries() const noexcept {
    return log2_entries_per_node + static_cast<std::uint32_t>(std::countr_zero(node_count));
  }
  [[nodiscard]] constexpr std::uint64_t entries() const noexcept {
    return std::uint64_t{1} << log2_entries();
  }
  /// The node that holds entry `index`.
  [[nodiscard]] constexpr std::uint32_t owner(std::uint64_t index) const noexcept {
    return static_cast<std::uint32_t>(index >> log2_entries_per_node);
  }
  /// The place of entry `index` in its owner's part.
  [[nodiscard]] constexpr std::uint64_t local(std::uint64_t index) const noexcept {
    return index & (entries_per_node() - 1);
  }
};

/// The table entries that one node increments, one after the other.
///
/// Every program that runs GUPS here takes its updates from this definition, so that their answers
/// are the same and their rates can be compared.
struct update_stream {
  table_shape shape;
  std::uint64_t first; ///< seed + node x updates per node

  constexpr update_stream(table_shape table, std::uint64_t seed, std::uint32_t node,
                          std::uint64_t updates_per_node) noexcept
      : shape{table}, first{seed + node * updates_per_node} {}

  /// The global index of update `i` of this node.
  [[nodiscard]] constexpr std::uint64_t operator[](std::uint64_t i) const noexcept {
    return mix64(first + i) >> (64 - shape.log2_entries());
  }
};

} // namespace quarry::gups

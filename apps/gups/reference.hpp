// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "update_stream.hpp"

#include <cstdint>
#include <vector>

namespace quarry::gups {

/// The part of the table that `node` holds after all nodes have done their updates, serially.
[[nodiscard]] inline std::vector<std::uint64_t> reference(table_shape shape, std::uint64_t seed,
                                                          std::uint64_t updates_per_node,
                                                          std::uint32_t node) {
  std::vector<std::uint64_t> part(shape.entries_per_node());
  for (std::uint32_t source = 0; source < shape.node_count; ++source) {
    update_stream const stream(shape, seed, source, updates_per_node);
    for (std::uint64_t i = 0; i < updates_per_node; ++i)
      if (std::uint64_t const entry = stream[i]; shape.owner(entry) == node)
        ++part[shape.local(entry)];
  }
  return part;
}

} // namespace quarry::gups

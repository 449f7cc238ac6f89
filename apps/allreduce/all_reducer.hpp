// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel.hpp"

#include <quarry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <programs/comp_net_cluster.hpp>
#include <span>

namespace quarry::allreduce {

/// Sums vectors over all nodes, by rings, in any of the five configurations. All nodes make it with
/// the same arguments, and sum() together.
///
/// Shape    ring_count × nodes <= element_count
class all_reducer {
public:
  static constexpr std::uint32_t group_size = 256; ///< of a ring's work-group
  /// What make() takes of the symmetric heap.
  [[nodiscard]] static std::size_t heap_bytes(std::uint32_t node_count, std::uint32_t element_count,
                                              std::uint32_t ring_count);
  [[nodiscard]] static result<all_reducer>
  make(command::comp_net_node& node, std::uint32_t element_count, std::uint32_t ring_count);

  [[nodiscard]] rings const& shape() const noexcept { return rings_; }
  /// This node's elements; after sum() everybody's, equal to the last bit on all nodes.
  [[nodiscard]] std::span<float> data() const noexcept {
    return {rings_.data.get(), rings_.element_count};
  }
  [[nodiscard]] result<void> sum();

private:
  all_reducer(command::comp_net_node& node, rings const& r) : node_(&node), rings_(r) {}

  command::comp_net_node* node_;
  rings rings_;
  std::uint64_t number_ = 0;
};

} // namespace quarry::allreduce

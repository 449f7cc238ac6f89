// SPDX-License-Identifier: Apache-2.0
#include "all_reducer.hpp"

#include "host_rings.hpp"

#include <algorithm>
#include <functional>

namespace quarry::allreduce {

std::size_t all_reducer::heap_bytes(std::uint32_t node_count, std::uint32_t element_count,
                                    std::uint32_t ring_count) {
  return 2 * sizeof(float) * std::size_t{element_count} +
         sizeof(std::uint64_t) * 2 * std::size_t{ring_count} * node_count;
}

result<all_reducer> all_reducer::make(command::comp_net_node& node, std::uint32_t element_count,
                                      std::uint32_t ring_count) {
  rings r{node.count, ring_count, element_count, {}, {}, {}};
  auto const data = node.host().malloc<float>(element_count);
  if (!data)
    return data.error();
  auto const staging = node.host().malloc<float>(element_count);
  if (!staging)
    return staging.error();
  // One more than there are steps: a node alone has none.
  auto const signals = node.host().malloc<std::uint64_t>(std::size_t{ring_count} * (r.steps() + 1));
  if (!signals)
    return signals.error();
  std::ranges::fill(*signals, 0);
  r.data = emu::global<float>(data->data());
  r.staging = emu::global<float>(staging->data());
  r.signals = emu::global<std::uint64_t>(signals->data());
  if (auto const all_here = node.host().barrier_all(); !all_here)
    return all_here.error();
  return all_reducer(node, r);
}

result<void> all_reducer::sum() {
  ++number_;
  if (!node_->has_device_calls())
    return host_rings(*node_, rings_, number_, group_size).sum();
  node_->gpu
      .run(command::comp_net_node::groups(rings_.ring_count, group_size), ring_wave{}, rings_,
           number_, std::ref(node_->net.device()))
      .or_throw();
  return {};
}

} // namespace quarry::allreduce

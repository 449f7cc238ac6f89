// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/net.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

namespace quarry::exploration {

inline constexpr std::uint32_t nodes = 2;

/// A GPU and its Gravel node, as small as they can be: every queue fills and wraps at once.
inline constexpr emu::machine node_machine{.compute_units = 1, .wavefront_size = 32};
inline net::gravel::gravel_node::options const node_options{
    .buffer_bytes = 64, .buffers_per_node = 2, .queue_slots = 1, .package_columns = 32};

/// The rings' orders where work-groups and service meet in the L2.
struct agent_ring_orders : net::comp_net::ring_orders {
  constexpr agent_ring_orders() : ring_orders(at(emu::scope::agent)) {}
};

/// Runs f(id, its end of the network, its way to memory) as a host thread for each of `count`
/// nodes, to their ends.
template<class F>
void run_nodes(world& w, F const& f, std::uint32_t count = nodes) {
  static constexpr std::array names{"node 0", "node 1", "node 2"};
  auto ends = net::make_in_process(count);
  for (std::uint32_t id = 0; id < count; ++id)
    w.start(names.at(id), [&, id](world_core& self) { f(id, std::move(ends[id]), self); });
  w.join();
}

} // namespace quarry::exploration

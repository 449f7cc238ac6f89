// SPDX-License-Identifier: Apache-2.0
// Two small ComP-Net nodes in one process, in many executions.
#pragma once

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/net.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace comp_net_test {

inline constexpr std::uint32_t explored_nodes = 2;

struct explored_shape {
  std::string_view configuration;
  std::uint64_t executions = 200;
  std::uint32_t compute_units = 1; ///< of each node
  std::uint32_t rings = 2;
  std::uint32_t ring_entries = 2;
  quarry::emu::launch_path launches = quarry::emu::launch_path::straight;
  bool diagnoses = false;
  quarry::net::shmem::shmem_orders orders{};
};

struct small_node {
  quarry::world& w;
  quarry::world_core& self; ///< of the node's host thread
  quarry::emu::explored_agent& gpu;
  quarry::net::comp_net::node& net;
  std::span<std::uint64_t> words; ///< a line, symmetric
  std::uint32_t id;
};

/// body(node) on each, then finish().
template<class Body>
quarry::verdict explore_nodes(explored_shape const& s, Body const& body) {
  quarry::explore_options const options{.executions = s.executions,
                                        .most_decisions = 200'000,
                                        .shrinks = false,
                                        .diagnoses = s.diagnoses};
  return quarry::explore(options, [&](quarry::world& w) {
    auto ends = quarry::net::make_in_process(explored_nodes);
    for (std::uint32_t id = 0; id < explored_nodes; ++id)
      w.start(id == 0 ? "node 0" : "node 1", [&, id](quarry::world_core& self) {
        quarry::emu::explored_agent gpu(
            w.scheduler(),
            {.compute_units = s.compute_units, .lds_bytes = 4096, .wavefront_size = 32},
            {.launches = s.launches});
        auto net = quarry::net::comp_net::node::start(
            gpu.core(), std::move(ends[id]),
            {.configuration = s.configuration,
             .rings = s.rings,
             .ring_entries = s.ring_entries,
             .reduce_bytes = 64,
             .shmem = {.heap_bytes = 256, .most_teams = 1, .team_bytes = 512, .orders = s.orders}});
        w.check(net.has_value(), net ? "" : net.error().what);
        if (!net)
          return;
        auto const words = net->shmem().malloc<std::uint64_t>(8);
        w.check(words.has_value(), words ? "" : words.error().what);
        small_node node{w, self, gpu, *net, *words, id};
        body(node);
        static_cast<void>(net->finish());
      });
    w.join();
  });
}

} // namespace comp_net_test

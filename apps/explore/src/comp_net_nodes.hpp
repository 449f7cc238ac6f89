// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "few_nodes.hpp"

#include <quarry/explore/weakening.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry::exploration {

/// One of the nodes on which a ComP-Net program runs.
struct program_node {
  world& w;
  std::uint32_t id;
  emu::explored_agent& gpu;
  net::comp_net::node& net;

  /// Symmetric memory; null, and a failure of the world, if the heap is too small.
  template<class T>
  [[nodiscard]] emu::global<T> allocate(std::size_t count) {
    auto const made = net.shmem().malloc<T>(count);
    w.check(made.has_value(), made ? "" : made.error().what);
    return emu::global<T>(made ? made->data() : nullptr);
  }
  /// `groups` of one wavefront each, which have a context.
  [[nodiscard]] static emu::launch_config wavefronts(std::uint32_t groups) {
    return {.work_items = groups * node_machine.wavefront_size,
            .work_items_per_group = node_machine.wavefront_size,
            .lds_bytes = net::comp_net::context::lds_bytes};
  }
  template<class... A>
  void run(emu::launch_config const& config, A&&... kernel_and_arguments) {
    static_cast<void>(gpu.run(config, std::forward<A>(kernel_and_arguments)...));
  }
};

struct program_shape {
  std::uint32_t rings = 1;     ///< of two entries each
  std::size_t heap_bytes = 0;  ///< beside what the rings meet by
  std::uint32_t count = nodes; ///< of nodes
  std::string_view configuration = net::comp_net::on_command_processor::name;
};

/// Runs body(node) on each of the nodes.
template<class F>
void run_program(world& w, weakening const* weak, program_shape const& shape, F const& body) {
  // Where the service is on the agent, agent scope is far enough.
  auto const ring = shape.configuration == net::comp_net::on_command_processor::name
                        ? weakened_partly<agent_ring_orders>(weak)
                        : weakened_partly<net::comp_net::ring_orders>(weak);
  auto const run = [&](std::uint32_t id, std::unique_ptr<net::in_process> end) {
    emu::explored_agent gpu(w.scheduler(), node_machine);
    net::comp_net::node::options const o{
        .configuration = shape.configuration,
        .rings = shape.rings,
        .ring_entries = 2,
        .reduce_bytes = 64,
        .ring = ring,
        .shmem = {.heap_bytes = shape.heap_bytes,
                  .most_teams = 1,
                  .team_bytes = 512,
                  .orders = weakened_partly<net::shmem::shmem_orders>(weak)}};
    auto net = net::comp_net::node::start(gpu.core(), std::move(end), o);
    w.check(net.has_value(), net ? "" : net.error().what);
    if (!net)
      return;
    program_node node{w, id, gpu, *net};
    body(node);
    auto const done = net->finish();
    w.check(static_cast<bool>(done), done ? "" : done.error().what);
  };
  run_nodes(w, run, shape.count);
}

/// All entries of the rings' table and of shmem's.
template<class Rings>
[[nodiscard]] std::vector<weakening> both_tables() {
  auto all = weakenings_of<Rings>();
  auto const more = weakenings_of<net::shmem::shmem_orders>();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Of both tables what the programs need: a put with a signal that is set, or a get, and a wait.
[[nodiscard]] inline std::vector<weakening> program_weakenings() {
  return of_entries(both_tables<agent_ring_orders>(),
                    {"refresh_read_index", "post_status", "await_status", "poll_status",
                     "complete_status", "advance_read_index", "apply_word", "wait"});
}

} // namespace quarry::exploration

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cluster.hpp"
#include "command_line/cli_forward.hpp"
#include "gather_outcomes.hpp"
#include "host_threads.hpp"

#include <quarry/emu/core.hpp>
#include <quarry/emu/grid.hpp>
#include <quarry/net/comp_net/configuration.hpp>
#include <quarry/net/comp_net/context.hpp>
#include <quarry/net/comp_net/node.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry::command {

/// What every program of ComP-Net's evaluation can be asked for.
struct comp_net_settings {
  net::comp_net::configuration const* configuration = &net::comp_net::on_command_processor;
  std::uint32_t work_group_count = 2; ///< that communicate, of each node
  std::uint32_t service_threads = 1;
  std::uint32_t polling_rounds = 4; ///< of a service, until blocking operations are looked at
  std::uint32_t ring_entries = 64;  ///< of each work-group
  std::uint32_t processor_cores = emu::machine{}.command_processor_cores;
  std::uint32_t processor_rounds = emu::machine{}.command_processor_rounds; ///< of a service's turn
};

/// Adds --configuration, --work-groups, --service-threads, --polling-rounds, --ring-entries,
/// --command-processor-cores and --command-processor-rounds.
void add_comp_net_options(CLI::App& command, comp_net_settings& settings);
/// Refuses what does not go together, and what has no effect: for check_when_read().
void check(CLI::App const& command, comp_net_settings const& settings);
/// Refuses more work-groups of that size than communicate at once.
void check_groups(run_options const& o, comp_net_settings const& s, std::uint32_t group_size);
/// The GPU and the node that they ask for. Each node has `heap_bytes` for shmem::node::malloc().
[[nodiscard]] emu::machine machine_of(run_options const& o, comp_net_settings const& s);
[[nodiscard]] net::comp_net::node::options
node_options(run_options const& o, comp_net_settings const& s, std::size_t heap_bytes);
/// They stand in the table's head.
void add_settings(program_result& result, comp_net_settings const& settings);

/// One emulated node of a run of ComP-Net: its host, its GPU and its part in the network.
struct comp_net_node {
  std::uint32_t id;
  std::uint32_t count; ///< of the job
  program_agent& gpu;
  net::comp_net::node& net;
  host_threads& threads; ///< one, but in configuration cpu: run_options' threads_per_node()

  [[nodiscard]] net::shmem::node& host() const { return net.shmem(); }
  /// Kernels communicate; otherwise the host does, between them or without any.
  [[nodiscard]] bool has_device_calls() const { return net.configuration().has_device_calls(); }
  [[nodiscard]] bool uses_gpu() const { return net.configuration().uses_gpu; }
  /// A thread's way to memory, for what is written for explored nodes as well.
  [[nodiscard]] static emu::basic_core<emu::native_memory> memory(std::uint32_t /*thread*/) {
    return emu::basic_core<emu::native_memory>({});
  }
  /// How groups are launched that communicate.
  [[nodiscard]] static emu::launch_config groups(std::uint32_t count, std::uint32_t size) {
    return {.work_groups = count,
            .work_items_per_group = size,
            .lds_bytes = net::comp_net::context::lds_bytes,
            .cooperative = true};
  }
};

/// What a program does on one node. Nodes run it at the same time.
using comp_net_body = std::function<result<void>(comp_net_node&)>;

/// run_nodes() for ComP-Net. Each node has `heap_bytes` for shmem::node::malloc().
///
/// Errors   as run_nodes()
[[nodiscard]] result<void> run_comp_net_nodes(run_options const& options,
                                              comp_net_settings const& settings,
                                              std::size_t heap_bytes, comp_net_body const& body);

/// Everybody's value, in the order of the nodes.
template<net::shmem::element T>
[[nodiscard]] result<std::vector<T>> gather_values(comp_net_node& node, T const& mine) {
  auto const from = node.host().malloc<T>(1);
  if (!from)
    return from.error();
  auto const to = node.host().malloc<T>(node.count);
  if (!to)
    return to.error();
  (*from)[0] = mine;
  if (auto const done = node.host().world().fcollect(to->data(), from->data(), 1); !done)
    return done.error();
  std::vector<T> values(to->begin(), to->end());
  for (void* const block : {static_cast<void*>(to->data()), static_cast<void*>(from->data())})
    if (auto const freed = node.host().free(block); !freed)
      return freed.error();
  return values;
}

/// What `run_one(node)`, a result<T>, came to on every node, in the order of the nodes.
///
/// Errors   as run_nodes(), and run_one()'s
template<net::shmem::element T, class F>
[[nodiscard]] result<std::vector<T>> gather_outcomes(run_options const& options,
                                                     comp_net_settings const& settings,
                                                     std::size_t heap_bytes, F const& run_one) {
  return gather_outcomes_of<T>(
      [&](auto const& body) { return run_comp_net_nodes(options, settings, heap_bytes, body); },
      run_one);
}

} // namespace quarry::command

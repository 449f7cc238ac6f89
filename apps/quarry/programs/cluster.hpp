// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line/run_options.hpp"
#include "gather_outcomes.hpp"
#include "program.hpp"

#include <quarry/emu/agent.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/net/gravel.hpp>
#include <quarry/net/symmetric_heap.hpp>
#include <quarry/net/transport_port.hpp>
#include <quarry/result.hpp>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace quarry::command {

/// What the programs' kernels are instantiated for: `--check-bounds` and `--wavefront-size` choose.
using program_targets =
    emu::targets<emu::memories<emu::native_memory, emu::checked_memory>, 32, 64>;
using program_agent = emu::basic_agent<program_targets>;

/// One emulated node of a run, complete: a pool, a GPU, a heap and its part in Gravel.
struct cluster_node {
  std::uint32_t id;
  std::uint32_t count; ///< of the job
  native_scheduler& scheduler;
  program_agent& gpu;
  net::symmetric_heap& heap;
  net::gravel::gravel_node& net;
};

/// What a program does on one node. Nodes run it at the same time.
using node_body = std::function<result<void>(cluster_node&)>;

/// Runs `body` on every node of the job that is in this process: on its one node under loopback and
/// MPI, in a thread each in process. Each node has `heap_bytes` of symmetric heap.
///
/// Errors   the first node's error, or the first exception's text
[[nodiscard]] result<void> run_nodes(run_options const& options, std::size_t heap_bytes,
                                     node_body const& body);

/// Everybody's value, in the order of the nodes.
template<class T>
[[nodiscard]] result<std::vector<T>> gather_values(cluster_node& node, T const& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  auto const all = node.net.all_gather(std::as_bytes(std::span(&mine, 1)));
  if (!all)
    return all.error();
  std::vector<T> values(all->size());
  for (std::size_t i = 0; i < values.size(); ++i)
    std::memcpy(&values[i], (*all)[i].data(), sizeof(T));
  return values;
}

/// What `run_one(node)`, a result<T>, came to on every node, in the order of the nodes.
///
/// Errors   as run_nodes(), and run_one()'s
template<class T, class F>
[[nodiscard]] result<std::vector<T>> gather_outcomes(run_options const& options,
                                                     std::size_t heap_bytes, F const& run_one) {
  return gather_outcomes_of<T>(
      [&](auto const& body) { return run_nodes(options, heap_bytes, body); }, run_one);
}

/// What a program does with one end of the network. Its errors are the job's.
using connected_body =
    std::function<result<void>(native_scheduler&, std::unique_ptr<net::transport_port>)>;

/// As run_nodes(), for nodes of another kind: runs `body` for every node that is in this process.
[[nodiscard]] result<void> run_connected(run_options const& options, connected_body const& body);

/// The GPU that the options ask for.
[[nodiscard]] emu::machine machine_of(run_options const& options);

/// What Gravel takes for its buffers on each node.
[[nodiscard]] std::uint64_t gravel_bytes(run_options const& options);

/// Appends the columns messages, average message and on the wire. A message is a per-node buffer,
/// whether it goes to another node or to the own one.
void add_traffic(program_result& result, net::gravel::statistics const& counts);

} // namespace quarry::command

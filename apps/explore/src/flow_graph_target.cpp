// SPDX-License-Identifier: Apache-2.0
// The naive Fibonacci of thesis Figure 4-5, in a channel that is as narrow as it can be, and in one
// that is narrower.
#include "agent_channel_orders.hpp"
#include "targets.hpp"

#include <quarry/emu.hpp>

#include <cstdint>
#include <fibonacci/flow_graph.hpp>
#include <functional>
#include <optional>
#include <span>

namespace quarry::exploration {
namespace {

using namespace quarry::emu;
using fibonacci::naive_kernel;
using fibonacci::term;

/// Dispatches at once, whatever there is: wavefronts meet, and the indices go round.
std::optional<std::size_t> eager(std::span<channel_state const> channels, bool) {
  return channels[0].ready != 0 ? std::optional<std::size_t>(0) : std::nullopt;
}

void run(world& w, machine const& m, channel_options const& o, std::uint32_t n,
         std::uint32_t right) {
  explored_agent gpu(w.scheduler(), m);
  auto result = gpu.allocate<std::uint32_t>(1, "result");
  channel_graph g(gpu, eager);
  auto& numbers = g.add_channel<term>(o);
  g.connect(numbers, naive_kernel{}, std::ref(numbers), result.global());
  g.put(numbers, {n});
  g.execute();
  outcome const end = g.wait_for_done();
  if (auto const& fault = end.get_fault())
    w.check(false, fault->report);
  w.check(result.host()[0] == right, "that is not the Fibonacci number");
  w.check(g.totals().channels.most <= o.width, "more elements than the channel is wide");
}

void run_flow_graph(world& w, weakening const* weak) {
  run(w, {.compute_units = 2, .wavefront_size = 32, .command_processor_cores = 1},
      {.width = 4,
       .elements_per_done_count = 1,
       .orders = weakened<agent_channel_orders>(weak),
       .name = "numbers"},
      6, 8);
}

/// More wavefronts than slots, in a channel that is too narrow for what is under way: without
/// yield, a deadlock. The restart contexts' channel has the same orders.
void run_yield(world& w, weakening const* weak) {
  run(w,
      {.compute_units = 2,
       .wavefront_slots = 1,
       .wavefront_size = 32,
       .command_processor_cores = 1},
      {.width = 2,
       .elements_per_done_count = 1,
       .full = when_full::yield,
       .orders = weakened<agent_channel_orders>(weak),
       .name = "numbers"},
      6, 8);
}

} // namespace

target flow_graph_target() {
  return {"flow-graph",
          "the naive Fibonacci on a channel four elements wide: a host, the aggregator on the "
          "command processor, kernels that produce for themselves",
          weakenings_of<agent_channel_orders>(), run_flow_graph, 5'000};
}

target channel_yield_target() {
  return {"channel-yield",
          "the same on a channel two elements wide: wavefronts that find it full give up their "
          "slots, and the aggregator restarts them",
          weakenings_of<agent_channel_orders>(), run_yield, 5'000};
}

} // namespace quarry::exploration

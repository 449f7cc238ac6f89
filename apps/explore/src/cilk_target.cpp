// SPDX-License-Identifier: Apache-2.0
// Fibonacci in Cilk: who waits for a sync goes on when its children have returned, inferred from
// the levels of the recursion alone.
#include "agent_channel_orders.hpp"
#include "targets.hpp"

#include <quarry/emu.hpp>

#include <fibonacci/kernel.hpp>

namespace quarry::exploration {
namespace {

using namespace quarry::emu;

void run_cilk(world& w, weakening const* weak, traversal order) {
  explored_agent gpu(w.scheduler(), {.compute_units = 2,
                                     .wavefront_slots = 1,
                                     .wavefront_size = 32,
                                     .command_processor_cores = 1});
  cilk<fibonacci::call, explored_targets> program(gpu,
                                                  {.depth = fibonacci::call::depth(5),
                                                   .width = 2,
                                                   .elements_per_done_count = 1,
                                                   .order = order,
                                                   .orders = weakened<agent_channel_orders>(weak)});
  outcome const end = program.run(fibonacci::call{5});
  if (auto const& fault = end.get_fault())
    w.check(false, fault->report);
  w.check(program.root_result() == 5, "the fifth Fibonacci number is 5");
  w.check(program.totals().channels.most <= 2, "more elements than a channel is wide");
}

/// The entries that are left out are about several that produce for one channel, or wait for room
/// in their slots: a level of two calls is one wavefront's, and it yields.
target made(char const* name, char const* what, traversal order) {
  return {
      name, what,
      of_entries(weakenings_of<agent_channel_orders>(),
                 {"producer_reads_head", "reads_tail", "reserve", "publish_control_tail",
                  "aggregator_reads_tail", "count_done", "aggregator_reads_done", "publish_head"}),
      [order](world& w, weakening const* weak) { run_cilk(w, weak, order); }, 20'000};
}

} // namespace

target cilk_target() {
  return made("cilk",
              "Fibonacci in Cilk on channels two elements wide: wavefronts yield, and what waits "
              "for a sync goes on when deeper levels are empty",
              traversal::help_first);
}

target cilk_hybrid_target() {
  return made(
      "cilk-hybrid",
      "the same, where a wavefront takes its calls to their ends by itself once another has "
      "yielded",
      traversal::hybrid);
}

} // namespace quarry::exploration

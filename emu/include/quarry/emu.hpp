// SPDX-License-Identifier: Apache-2.0
#pragma once

// The SIMT vocabulary
#include <quarry/emu/affine.hpp>
#include <quarry/emu/affine_arithmetic.hpp>
#include <quarry/emu/affine_comparison.hpp>
#include <quarry/emu/always_inline.hpp>
#include <quarry/emu/grid.hpp>
#include <quarry/emu/lane_algorithms.hpp>
#include <quarry/emu/lane_comparison.hpp>
#include <quarry/emu/lane_conversion.hpp>
#include <quarry/emu/lane_mask.hpp>
#include <quarry/emu/lane_math.hpp>
#include <quarry/emu/lane_memory.hpp>
#include <quarry/emu/lane_predicate.hpp>
#include <quarry/emu/lane_rows.hpp>
#include <quarry/emu/lane_select.hpp>
#include <quarry/emu/lanes.hpp>
#include <quarry/emu/reductions.hpp>

// What a kernel sees
#include <quarry/emu/collectives.hpp>
#include <quarry/emu/fine_grain_barrier.hpp>
#include <quarry/emu/item_collectives.hpp>
#include <quarry/emu/kernel.hpp>
#include <quarry/emu/lane_call.hpp>
#include <quarry/emu/lane_slot.hpp>
#include <quarry/emu/spin_watch.hpp>
#include <quarry/emu/wavefront.hpp>
#include <quarry/emu/wavefront_collectives.hpp>
#include <quarry/emu/where.hpp>
#include <quarry/emu/work_group.hpp>
#include <quarry/emu/work_item.hpp>

// Scoped memory
#include <quarry/emu/allocations.hpp>
#include <quarry/emu/buffer.hpp>
#include <quarry/emu/core.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/lifetime.hpp>
#include <quarry/emu/memory.hpp>
#include <quarry/emu/memory_wait.hpp>
#include <quarry/emu/operations.hpp>
#include <quarry/emu/scope.hpp>

// The machine
#include <quarry/emu/agent.hpp>
#include <quarry/emu/agent_core.hpp>
#include <quarry/emu/compute_unit.hpp>
#include <quarry/emu/debug_agents.hpp>
#include <quarry/emu/fault.hpp>
#include <quarry/emu/launch_state.hpp>
#include <quarry/emu/wavefront_yield.hpp>

// The command processor
#include <quarry/emu/command_processor.hpp>
#include <quarry/emu/loaded_kernel.hpp>
#include <quarry/emu/packet.hpp>
#include <quarry/emu/packet_processor.hpp>
#include <quarry/emu/running_launches.hpp>
#include <quarry/emu/service.hpp>
#include <quarry/emu/signal.hpp>
#include <quarry/emu/user_queue.hpp>

// Queues
#include <quarry/emu/channel.hpp>
#include <quarry/emu/channel_aggregator.hpp>
#include <quarry/emu/channel_arrays.hpp>
#include <quarry/emu/channel_drawing.hpp>
#include <quarry/emu/channel_graph.hpp>
#include <quarry/emu/channel_options.hpp>
#include <quarry/emu/channel_orders.hpp>
#include <quarry/emu/cilk.hpp>
#include <quarry/emu/cilk_call.hpp>
#include <quarry/emu/cilk_kernel.hpp>
#include <quarry/emu/cilk_scheduler.hpp>
#include <quarry/emu/cilk_work_first.hpp>
#include <quarry/emu/mpmc_queue.hpp>
#include <quarry/emu/queue_orders.hpp>
#include <quarry/emu/slot_turns.hpp>
#include <quarry/emu/spsc_queue.hpp>
#include <quarry/emu/work_group_queue.hpp>

// Explored executions
#include <quarry/emu/cache_port.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/emu/explored_network.hpp>
#include <quarry/emu/handover.hpp>
#include <quarry/emu/index_lines.hpp>
#include <quarry/emu/operation_site.hpp>
#include <quarry/emu/replay_file.hpp>

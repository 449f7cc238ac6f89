// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/debug_root.hpp>

#include <cstdint>

namespace quarry::emu {

class work_group;
struct launch_state;

// What a debugger finds GPUs by: agents, their launches, their compute units, the work-groups
// there. As in <quarry/debug_root.hpp>: linked when something comes or goes, never while it runs.

/// A launch, from its start to the end of the wait for it.
struct debug_dispatch {
  debug_dispatch* next = nullptr;
  debug_dispatch* previous = nullptr;
  launch_state const* self = nullptr;
  char const* kernel = "";
  std::uint64_t first_wave = 0; ///< wavefronts of the agent's earlier launches
  std::uint32_t id = 0;         ///< on its agent, from 1 on
  std::uint32_t unused = 0;
};

/// Room for a work-group, reused. It is resident if its wavefronts have not all ended and its
/// launch is among the agent's.
struct debug_group {
  debug_group* next = nullptr;
  debug_group* previous = nullptr;
  work_group const* self = nullptr;
};

struct debug_unit {
  debug_unit* next = nullptr;
  debug_unit* previous = nullptr;
  strand const* self = nullptr;
  char const* name = "";
  debug_list<debug_group> groups;
};

/// A user-mode queue that the agent's command processor serves. Its indices count packets, from the
/// first one on.
struct debug_queue {
  debug_queue* next = nullptr;
  debug_queue* previous = nullptr;
  char const* name = "";
  void const* packets = nullptr;
  std::uint64_t const* reserved = nullptr;  ///< the next packet to be reserved
  std::uint64_t const* committed = nullptr; ///< the doorbell: those before have been committed
  std::uint64_t const* read = nullptr;      ///< those before have been read
  std::uint32_t slots = 0;
  std::uint32_t is_in_caches = 0; ///< 1: an exploration holds the indices, not host memory
};

/// An emulated GPU.
struct debug_agent {
  debug_agent* next = nullptr;
  debug_agent* previous = nullptr;
  debug_executor const* scheduler = nullptr;
  debug_list<debug_dispatch> dispatches; ///< in the order of their starts
  debug_list<debug_unit> units;
  std::uint64_t wave_count = 0; ///< of all launches so far
  std::uint32_t dispatch_count = 0;
  std::uint32_t id = 0; ///< from 1 on; one more than that of the youngest one that lives
  std::uint32_t compute_units = 0;
  std::uint32_t wavefront_slots = 0; ///< per compute unit
  std::uint32_t wavefront_size = 0;
  std::uint32_t lds_bytes = 0; ///< per compute unit
  debug_list<debug_queue> queues;
};

/// Where a debugger finds what in types that are not plain: offsets in bytes.
struct debug_agent_layout {
  std::uint32_t launch_groups;    ///< extent: three std::uint32_t
  std::uint32_t launch_per_group; ///< extent
  std::uint32_t launch_items;     ///< extent
  std::uint32_t launch_where;     ///< std::source_location
  std::uint32_t launch_unfinished;
  std::uint32_t launch_waves_per_group;
  std::uint32_t group_launch;
  std::uint32_t group_id;   ///< extent
  std::uint32_t group_size; ///< extent
  std::uint32_t group_linear_id;
  std::uint32_t group_wave_count;
  std::uint32_t group_all;   ///< bits, one a wavefront
  std::uint32_t group_fresh; ///< bits; `native` only
  std::uint32_t group_finished;
  std::uint32_t group_decides; ///< bool
  std::uint32_t group_waves;   ///< an array of wave_slot
  std::uint32_t wave_bytes;    ///< of a wave_slot
  std::uint32_t wave_group;
  std::uint32_t wave_index;
  std::uint32_t wave_items;   ///< bits, one a lane
  std::uint32_t wave_active;  ///< bits: the exec mask of a wave kernel
  std::uint32_t wave_lanes;   ///< item_lanes*; null unless it runs an item kernel
  std::uint32_t lanes_live;   ///< bits
  std::uint32_t lanes_slots;  ///< lane_slot*
  std::uint32_t lane_bytes;   ///< of a lane_slot
  std::uint32_t lane_lanes;   ///< item_lanes*
  std::uint32_t lane_number;  ///< int
  std::uint32_t lane_fiber;   ///< execution_fiber*: of a plain function that has blocked
  std::uint32_t lane_request; ///< lane_request*
  std::uint32_t request_what; ///< char const*, and a std::source_location after it
  std::uint32_t lanes_wave;   ///< wave_slot*
};

/// The debugger's way in: the symbol `quarry_debug_agents`.
struct debug_agents {
  static constexpr std::uint32_t version = 3;
  std::uint32_t abi_version = version;
  std::uint32_t bytes = sizeof(debug_agents);
  debug_list<debug_agent> agents;
  debug_agent_layout layout;
};

extern "C" {
extern debug_agents quarry_debug_agents; // NOLINT(*-non-const-global-variables)
}

/// Adds to and removes from the list; gives the agent its id. From any thread.
void announce(debug_agent& a);
void withdraw(debug_agent& a) noexcept;
/// Its place among those of its scheduler, from 1 on: the id, where there are no others.
[[nodiscard]] std::uint32_t rank_of(debug_agent const& a);

} // namespace quarry::emu

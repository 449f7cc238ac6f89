// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/compute_unit.hpp>
#include <quarry/emu/debug_agents.hpp>
#include <quarry/emu/lane_slot.hpp>
#include <quarry/emu/launch_state.hpp>
#include <quarry/emu/wavefront.hpp>
#include <quarry/emu/work_group.hpp>

#include <cstddef>
#include <mutex>

namespace quarry::emu {

// Conditionally supported for types with virtual functions: g++ and clang both do.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

/// Sees the members that only a debugger has business with.
struct debug_layout_access {
  static constexpr debug_agent_layout layout{
      .launch_groups = offsetof(launch_state, groups),
      .launch_per_group =
          offsetof(launch_state, config) + offsetof(launch_config, work_items_per_group),
      .launch_items = offsetof(launch_state, config) + offsetof(launch_config, work_items),
      .launch_where = offsetof(launch_state, config) + offsetof(launch_config, where),
      .launch_unfinished = offsetof(launch_state, unfinished),
      .launch_waves_per_group = offsetof(launch_state, waves_per_group),
      .group_launch = offsetof(work_group, launch),
      .group_id = offsetof(work_group, id),
      .group_size = offsetof(work_group, size),
      .group_linear_id = offsetof(work_group, linear_id),
      .group_wave_count = offsetof(work_group, wave_count),
      .group_all = offsetof(work_group, all),
      .group_fresh = offsetof(work_group, fresh),
      .group_finished = offsetof(work_group, finished),
      .group_decides = offsetof(work_group, decides),
      .group_waves = offsetof(work_group, waves),
      .wave_bytes = sizeof(wave_slot),
      .wave_group = offsetof(wave_slot, group),
      .wave_index = offsetof(wave_slot, index),
      .wave_items = offsetof(wave_slot, items),
      .wave_active = offsetof(wave_slot, storage) + offsetof(wavefront, active_),
      .wave_lanes = offsetof(wave_slot, lanes),
      .lanes_live = offsetof(item_lanes, live_),
      .lanes_slots = offsetof(item_lanes, slots_),
      .lane_bytes = sizeof(lane_slot),
      .lane_lanes = offsetof(lane_slot, lanes),
      .lane_number = offsetof(lane_slot, lane),
      .lane_fiber = offsetof(lane_slot, own_fiber),
      .lane_request = offsetof(lane_slot, request),
      .request_what = offsetof(lane_request, what),
      .lanes_wave = offsetof(item_lanes, wave_),
  };
  // The exec mask stands at the same place in every wavefront.
  static_assert(offsetof(wavefront, active_) == 2 * sizeof(void*));
  using small = basic_wavefront<native_memory, 32>;
  static_assert(offsetof(small, active_) == offsetof(wavefront, active_));
  static_assert(offsetof(lane_request, where) == offsetof(lane_request, what) + sizeof(void*));
  static_assert(sizeof(std::unique_ptr<lane_slot[]>) == sizeof(void*));
};

#pragma GCC diagnostic pop

static_assert(sizeof(debug_agents) == 152 && sizeof(debug_agent) == 104,
              "raise debug_agents::version, and tell quarry-gdb.py");

extern "C" {
// NOLINTNEXTLINE(*-non-const-global-variables)
constinit debug_agents quarry_debug_agents{.agents = {}, .layout = debug_layout_access::layout};
}

namespace {

constinit std::mutex agents_mutex; // NOLINT(*-non-const-global-variables)

} // namespace

void announce(debug_agent& a) {
  std::lock_guard const lock(agents_mutex);
  debug_agent const* const youngest = quarry_debug_agents.agents.last;
  a.id = youngest == nullptr ? 1 : youngest->id + 1;
  quarry_debug_agents.agents.push_back(a);
}

void withdraw(debug_agent& a) noexcept {
  std::lock_guard const lock(agents_mutex);
  quarry_debug_agents.agents.remove(a);
}

std::uint32_t rank_of(debug_agent const& a) {
  std::lock_guard const lock(agents_mutex);
  std::uint32_t rank = 1;
  for (debug_agent const* other = quarry_debug_agents.agents.first; other != nullptr && other != &a;
       other = other->next)
    rank += other->scheduler == a.scheduler ? 1 : 0;
  return rank;
}

} // namespace quarry::emu

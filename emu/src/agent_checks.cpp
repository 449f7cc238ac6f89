// SPDX-License-Identifier: Apache-2.0
// Machines that an agent can be, and grids that it can run: others are refused before anything
// runs.
#include "agent_checks.hpp"

#include "explore/explored_memory.hpp"

#include <quarry/emu/agent_core.hpp>

#include <fmt/core.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace quarry::emu {
namespace {

constexpr std::uint64_t most_groups = std::uint64_t{1} << 32;
constexpr std::uint64_t most_explored_waves = 2048; // they and the words they touch take 2 GB

[[noreturn]] void refuse(std::string const& what) {
  throw std::invalid_argument(what);
}

std::uint32_t in_groups(std::uint32_t items, std::uint32_t per_group) {
  return static_cast<std::uint32_t>((std::uint64_t{items} + per_group - 1) / per_group);
}

void check_group(launch_config const& c, std::string const& kernel) {
  std::uint64_t const items = c.work_items_per_group.volume();
  if (items == 0 || items > most_work_items_per_group)
    refuse(fmt::format("launch of {}: {} x {} x {} = {} work-items a group; allowed are 1 to {}",
                       kernel, c.work_items_per_group.x, c.work_items_per_group.y,
                       c.work_items_per_group.z, items, most_work_items_per_group));
}

/// How many groups, of how many work-items in all.
void lay_out(launch_state& l) {
  launch_config& c = l.config;
  check_group(c, l.kernel);
  extent const per = c.work_items_per_group;
  bool const by_items = c.work_items != extent{0};
  bool const by_both = by_items && c.work_groups != extent{0};
  if (by_both || (by_items ? c.work_items : c.work_groups).volume() == 0)
    refuse(fmt::format("launch of {}: {}; say either work_groups or work_items, each dimension at "
                       "least 1",
                       l.kernel, by_both ? "both are given" : "the grid is empty"));
  l.groups = by_items ? extent(in_groups(c.work_items.x, per.x), in_groups(c.work_items.y, per.y),
                               in_groups(c.work_items.z, per.z))
                      : c.work_groups;
  if (__uint128_t{l.groups.x} * l.groups.y * l.groups.z >= most_groups)
    refuse(fmt::format("launch of {}: {} x {} x {} groups; at most 4294967295 in all", l.kernel,
                       l.groups.x, l.groups.y, l.groups.z));
  l.group_count = l.groups.volume();
  if (by_items) { // in a dimension with one group that is as wide as the grid
    extent const all = c.work_items;
    c.work_items_per_group = {std::min(per.x, all.x), std::min(per.y, all.y),
                              std::min(per.z, all.z)};
  } else {
    auto const fits = [](std::uint32_t n, std::uint32_t k) {
      return std::uint64_t{n} * k < most_groups;
    };
    if (!fits(l.groups.x, per.x) || !fits(l.groups.y, per.y) || !fits(l.groups.z, per.z))
      refuse(fmt::format("launch of {}: more than 4294967295 work-items in a dimension", l.kernel));
    c.work_items = {l.groups.x * per.x, l.groups.y * per.y, l.groups.z * per.z};
    c.work_groups = {0}; // from here on it is said in work-items: a packet says it only once
  }
}

void check_wavefronts(launch_state const& l, std::uint64_t waves, explored_memory const& memory) {
  if (waves > most_explored_waves)
    refuse(fmt::format("launch of {}: {} wavefronts; under explore a launch has at most {}, since "
                       "each has a cache of its own: take a smaller grid",
                       l.kernel, waves, most_explored_waves));
  if (memory.actor_count() + waves > explored_memory::most_actors)
    refuse(fmt::format("launch of {}: {} wavefronts, after {} actors; an execution of explore has "
                       "at most {}, those that have ended, and are to come, among them",
                       l.kernel, waves, memory.actor_count(), explored_memory::most_actors));
}

} // namespace

void check(machine const& m) {
  if (m.compute_units == 0 || m.compute_units > 4096)
    refuse(fmt::format("machine: {} compute units; allowed are 1 to 4096", m.compute_units));
  if (m.wavefront_slots == 0 || m.wavefront_slots > 1024)
    refuse(fmt::format("machine: {} wavefront slots a compute unit; allowed are 1 to 1024",
                       m.wavefront_slots));
  if (m.wavefront_size != 32 && m.wavefront_size != 64)
    refuse(fmt::format("machine: wavefront size {}; allowed are 32 and 64", m.wavefront_size));
  if (m.command_processor_cores == 0 || m.command_processor_cores > 64)
    refuse(fmt::format("machine: {} command-processor cores; allowed are 1 to 64",
                       m.command_processor_cores));
  if (m.command_processor_rounds == 0 || m.command_processor_rounds > 65536)
    refuse(fmt::format("machine: {} command-processor rounds a service; allowed are 1 to 65536",
                       m.command_processor_rounds));
  if (m.lds_bytes > 16 * 1024 * 1024)
    refuse(fmt::format("machine: {} bytes of LDS a compute unit; at most 16777216", m.lds_bytes));
}

void agent_core::prepare(launch_state& l) const {
  if (sequential_ != nullptr)
    sequential_->need_own_thread("a launch", l.config.where);
  leave_if_abandoned(); // before its wavefronts are counted
  if (dynamic_cast<compute_unit const*>(scheduler_.turn()) != nullptr)
    throw std::logic_error(fmt::format("launch of {}: from a kernel, which would wait for compute "
                                       "units, for its own perhaps; submit a packet to a "
                                       "user_queue, of a kernel that agent::load() knows",
                                       l.kernel));
  lay_out(l);
  launch_config const& c = l.config;
  auto const items = static_cast<std::uint32_t>(c.work_items_per_group.volume());
  if (c.lds_bytes > machine_.lds_bytes)
    refuse(fmt::format("launch of {}: {} bytes of LDS a group; a compute unit has {}", l.kernel,
                       c.lds_bytes, machine_.lds_bytes));
  auto const waves = in_groups(items, machine_.wavefront_size);
  if (waves > machine_.wavefront_slots)
    refuse(fmt::format("launch of {}: a group needs {} wavefront slots; a compute unit has {}",
                       l.kernel, waves, machine_.wavefront_slots));
  auto* const explored = explored_memory::of(scheduler_);
  if (explored != nullptr)
    check_wavefronts(l, l.group_count * waves, *explored);
  std::uint64_t const per_unit =
      machine_.groups_per_unit(items, static_cast<std::uint32_t>(c.lds_bytes));
  std::uint64_t const resident = per_unit * machine_.compute_units;
  if (c.cooperative && l.group_count > resident)
    refuse(fmt::format("cooperative launch of {}: {} groups, but only {} can be resident at once "
                       "({} compute units, {} groups each)",
                       l.kernel, l.group_count, resident, machine_.compute_units, per_unit));
  l.wavefront_size = machine_.wavefront_size;
  l.waves_per_group = waves;
  l.fits_at_once = l.group_count <= resident;
  l.scheduler = &scheduler_;
  l.bounds = checks_bounds_ ? &known_ : nullptr;
  l.unfinished.store(l.group_count, std::memory_order_relaxed);
  if (explored != nullptr)
    explored->expect_waves(l, l.group_count * waves);
}

} // namespace quarry::emu

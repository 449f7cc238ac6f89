// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/agent_core.hpp>
#include <quarry/emu/loaded_kernel.hpp>

#include <fmt/core.h>

#include <limits>
#include <stdexcept>
#include <utility>

namespace quarry::emu {

loaded_kernel::loaded_kernel(agent_core& agent, kernel_code code)
    : agent_(agent), agent_lives_(agent.known().lives()), code_(std::move(code)),
      object_(agent_.note_loaded(code_)) {}

loaded_kernel::~loaded_kernel() {
  if (!agent_lives_.expired())
    agent_.note_unloaded(object_);
}

std::uint64_t loaded_kernel::kernarg_address() const noexcept {
  return reinterpret_cast<std::uintptr_t>(code_.arguments.get());
}

dispatch_packet packet_of(launch_config const& config, packet_header header,
                          std::string const& kernel) {
  header.type = packet_type::kernel_dispatch;
  extent const per = config.work_items_per_group;
  constexpr std::uint32_t most = std::numeric_limits<std::uint16_t>::max();
  if (per.x > most || per.y > most || per.z > most)
    throw std::invalid_argument(
        fmt::format("packet for {}: a group of {} x {} x {} work-items; at most {} in a dimension",
                    kernel, per.x, per.y, per.z, most));
  extent items = config.work_items;
  if (items != extent{0} && config.work_groups != extent{0})
    throw std::invalid_argument(
        fmt::format("packet for {}: both are given; say either work_groups or work_items", kernel));
  if (items == extent{0}) { // the packet has no other way to say it
    extent const groups = config.work_groups;
    auto const fits = [](std::uint32_t n, std::uint32_t k) {
      return std::uint64_t{n} * k <= std::numeric_limits<std::uint32_t>::max();
    };
    if (!fits(groups.x, per.x) || !fits(groups.y, per.y) || !fits(groups.z, per.z))
      throw std::invalid_argument(
          fmt::format("packet for {}: more than 4294967295 work-items in a dimension", kernel));
    items = {groups.x * per.x, groups.y * per.y, groups.z * per.z};
  }
  dispatch_packet p;
  p.header = header.bits();
  p.work_group_size = {static_cast<std::uint16_t>(per.x), static_cast<std::uint16_t>(per.y),
                       static_cast<std::uint16_t>(per.z)};
  p.grid_size = {items.x, items.y, items.z};
  p.group_segment_bytes = config.lds_bytes;
  return p;
}

dispatch_packet loaded_kernel::packet(launch_config const& config, packet_header header) const {
  if (config.cooperative)
    throw std::invalid_argument(fmt::format("packet for {}: no packet says that its groups are to "
                                            "be resident at once; launch() and run() can",
                                            code_.name));
  dispatch_packet p = packet_of(config, header, code_.name);
  p.kernel_object = kernel_object();
  p.kernarg_address = kernarg_address();
  return p;
}

} // namespace quarry::emu

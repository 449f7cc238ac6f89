// SPDX-License-Identifier: Apache-2.0
// What a packet processor says of the packet that waits for what is before it.
#include "explore/explored_memory.hpp"

#include <quarry/emu/agent_core.hpp>
#include <quarry/emu/packet_processor.hpp>

#include <fmt/core.h>

#include <cstdint>
#include <mutex>
#include <string>

namespace quarry::emu {

void packet_processor::hold_up(bool holds) {
  std::lock_guard const lock(mutex_);
  is_held_up_ = holds;
}

/// An exploration asks for it by itself.
void packet_processor::tell_what_is_held_up(fault& f) {
  if (explored_memory::of(agent_.scheduler()) != nullptr)
    return;
  if (std::string const held_up = what_is_held_up(); !held_up.empty())
    f.report += fmt::format("\n{}", held_up);
}

std::string packet_processor::what_is_held_up() {
  std::lock_guard const lock(mutex_);
  if (!is_held_up_)
    return {};
  packet_header const h = next_.header();
  std::string line = fmt::format("{}: packet {} waits", name(), number_);
  if (h.barrier)
    line += " until every packet before it has completed";
  if (h.type != packet_type::barrier_and && h.type != packet_type::barrier_or)
    return line;
  line += fmt::format("{} for {} of its signals:", h.barrier ? ", and" : "",
                      h.type == packet_type::barrier_and ? "all" : "one");
  for (std::uint64_t const handle : next_.as<barrier_packet>().dep_signal)
    if (handle != 0)
      line += fmt::format(" {:#x} ({})", handle, place_of(handle));
  return line;
}

std::string packet_processor::place_of(std::uint64_t handle) const {
  auto const* const at = reinterpret_cast<void const*>(handle);
  std::string const here = agent_.known().locate(at);
  return here.empty() ? queue_.known().locate(at) : here;
}

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
// What reports of an explored execution call actors, launches and words: by the order in which they
// were made, never by an address.
#include "explored_memory.hpp"

#include <quarry/emu/agent_core.hpp>
#include <quarry/emu/launch_state.hpp>
#include <quarry/emu/work_group.hpp>
#include <quarry/report.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace quarry::emu {

// Words

std::string explored_memory::word_of(std::uintptr_t at, unsigned bytes) const {
  if (known_range const* const r = map_.find(at)) {
    std::uintptr_t const offset = at - r->begin;
    unsigned width = machine_.width(at);
    if (width == 0)                                          // nobody has accessed it before
      width = bytes != 0 ? bytes : machine_.width(r->begin); // as large as the others, presumably
    if (offset == 0)
      return map_.title_of(*r) + "[0]";
    return width != 0 && offset % width == 0
               ? fmt::format("{}[{}]", map_.title_of(*r), offset / width)
               : fmt::format("{}, byte {}", map_.title_of(*r), offset);
  }
  auto const number = history_.number_of(at);
  return number ? fmt::format("word {}", *number) : "";
}

std::string explored_memory::name_of(void const* address) const {
  auto const at = reinterpret_cast<std::uintptr_t>(address);
  return map_.find(at) == nullptr ? "" : word_of(at);
}

std::string explored_memory::offset_of(void const* address) const {
  return map_.offset_of(reinterpret_cast<std::uintptr_t>(address));
}

std::string explored_memory::surroundings_of(void const* address, std::size_t bytes) const {
  auto const at = reinterpret_cast<std::uintptr_t>(address);
  if (known_range const* const g = map_.find_gone(at))
    return fmt::format("at byte {} of '{}' ({} bytes, allocated at {}), which was given back",
                       at - g->begin, g->name, g->end - g->begin, quarry::to_string(g->where));
  known_range const* const r = map_.find_near(at);
  if (r == nullptr)
    return "far from every allocation";
  actor const* const self = scheduler_.current();
  cache_port const* const port = self == nullptr ? nullptr : find_port(*self);
  std::string const space = r->is_lds         ? "LDS"
                            : port == nullptr ? "memory"
                                              : space_of(port->id(), r->begin);
  bool const is_within = at >= r->begin && at < r->end && bytes <= r->end - at;
  std::string const where = at < r->begin ? fmt::format("{} bytes before", r->begin - at)
                            : is_within   ? fmt::format("at byte {} of", at - r->begin)
                            : at < r->end
                                ? fmt::format("{} bytes over the end of", bytes - (r->end - at))
                                : fmt::format("{} bytes after the end of", at - r->end);
  return fmt::format(
      "{} '{}' ({} bytes of {}, allocated at {}){}", where, map_.title_of(*r), r->end - r->begin,
      space, quarry::to_string(r->where),
      !is_within ? ""
      : r->is_lds
          ? ", which its own work-group alone may access"
          : ", which another agent may access: agent::expose() it, or take world::allocate()");
}

std::string explored_memory::space_of(actor_id who, std::uintptr_t at) const {
  if (ports_[who].is_lds(reinterpret_cast<void const*>(at))) // NOLINT(*-no-int-to-ptr)
    return "LDS";
  std::string const grain = coarse_.contain(at) ? "coarse-grained " : "";
  if (shared() != nullptr && shared()->find(at) != nullptr)
    return grain + "host memory";
  for (known_unit const& u : agents_)
    if (static_cast<agent_core const*>(u.unit)->known().find(at) != nullptr)
      return fmt::format("{}memory of agent {}", grain, u.rank);
  return grain + "memory";
}

std::string explored_memory::allocation_of(actor_id who, std::uintptr_t at) const {
  known_range const* const r = map_.find(at);
  std::string const space = space_of(who, at);
  if (r == nullptr)
    return space == "LDS" ? space : "";
  return fmt::format("'{}': {} bytes of {}, allocated at {}; this is byte {}", map_.title_of(*r),
                     r->end - r->begin, space, quarry::to_string(r->where), at - r->begin);
}

// Actors

std::string explored_memory::name_of(actor_id who) const {
  return names_.name_of(who, agents_.size());
}

std::string explored_memory::culprit(wave_slot const& w, int lane,
                                     std::optional<std::source_location> where) const {
  actor_id const who = w.port->id();
  std::source_location const line = where.value_or(actors_[who].last);
  std::string text = "  by       " + name_of(who);
  if (lane >= 0)
    text += fmt::format(" lane {}, work-item {} of its group", lane,
                        w.index * w.group->launch->wavefront_size + static_cast<unsigned>(lane));
  if (line.line() == 0)
    return fmt::format("{}\n{}", text, about(who, line));
  return fmt::format("{}, {}{}\n{}", text, where ? "" : "last operation at ",
                     quarry::to_string(line), about(who, line));
}

cache_port const* explored_memory::find_port(actor const& a) const {
  if (a.number < by_number_.size() && by_number_[a.number] != nullptr)
    return by_number_[a.number];
  auto const* const wave = dynamic_cast<wave_slot const*>(&a);
  return wave == nullptr ? nullptr : wave->port;
}

std::string explored_memory::describe(actor const& a) const {
  cache_port const* const port = find_port(a);
  std::string text = port == nullptr ? a.name() : name_of(port->id());
  if (port != nullptr && names_.is_wave(port->id()))
    text += " of " + names_.kernel_of(port->id());
  std::source_location const last =
      port == nullptr ? std::source_location() : actors_[port->id()].last;
  text +=
      last.line() == 0 ? ": no operation so far" : ": last operation at " + quarry::to_string(last);
  if (a.reason.where.line() != 0)
    text += ", last wait at " + quarry::to_string(a.reason.where);
  return text;
}

std::string explored_memory::who_runs() const {
  if (actor const* const a = scheduler_.current())
    return describe(*a);
  // Frames are destroyed, say.
  std::string const most = busiest();
  return most.empty() ? "no actor" : "no actor; those that did most: " + most;
}

std::string explored_memory::where_it_runs() const {
  actor const* const a = scheduler_.current();
  cache_port const* const port = a == nullptr ? nullptr : find_port(*a);
  return port == nullptr || actors_[port->id()].last.line() == 0
             ? ""
             : quarry::to_string(actors_[port->id()].last);
}

} // namespace quarry::emu

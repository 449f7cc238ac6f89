// SPDX-License-Identifier: Apache-2.0
#include "actor_names.hpp"

#include <quarry/emu/launch_state.hpp>
#include <quarry/report.hpp>

#include <fmt/core.h>

#include <utility>

namespace quarry::emu {

void actor_names::clear() noexcept {
  launch_count_ = 0;
}

std::uint32_t actor_names::add_launch(launch_state const& l, std::uint32_t agent) {
  if (launch_count_ == launches_.size())
    launches_.emplace_back();
  known_launch& known = launches_[launch_count_];
  known.kernel = l.kernel;
  known.agent = agent;
  known.number = l.debug.id;
  known.groups = l.group_count;
  known.group_size = l.config.work_items_per_group.volume();
  known.where = l.config.where;
  return static_cast<std::uint32_t>(launch_count_++);
}

actor_names::known_actor& actor_names::place_of(actor_id who) {
  if (actors_.size() <= who)
    actors_.resize(who + std::size_t{1});
  return actors_[who];
}

void actor_names::name_host(actor_id who, std::string name) {
  place_of(who) = {.name = std::move(name)};
}

void actor_names::name_core(actor_id who, std::string name, std::uint32_t agent) {
  place_of(who) = {.name = std::move(name), .agent = agent};
}

void actor_names::name_wave(actor_id who, std::uint32_t launch, extent const& group,
                            std::uint32_t index, std::uint64_t number) {
  known_actor& a = place_of(who); // whose name, of another execution, keeps its memory
  a.is_wave = true;
  a.launch = launch;
  a.index = index;
  a.number = number;
  a.group = group;
}

std::string actor_names::name_of(actor_id who, std::size_t agents) const {
  known_actor const& a = actors_[who];
  if (!a.is_wave)
    return a.agent == 0 || agents == 1 ? a.name : fmt::format("{} of agent {}", a.name, a.agent);
  known_launch const& l = launches_[a.launch];
  return fmt::format("wave {}:1:{}:{} ({},{},{})/{}", l.agent, l.number, a.number, a.group.x,
                     a.group.y, a.group.z, a.index);
}

std::string actor_names::dispatch_of(actor_id who) const {
  known_actor const& a = actors_[who];
  if (!a.is_wave)
    return "";
  known_launch const& l = launches_[a.launch];
  auto const text =
      fmt::format("in dispatch {} of agent {}: {}, {} group{} of {}", l.number, l.agent, l.kernel,
                  l.groups, l.groups == 1 ? "" : "s", l.group_size);
  return l.where.line() == 0 ? text : text + ", launched at " + quarry::to_string(l.where);
}

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#include "comp_net_nodes.hpp"

#include <algorithm>
#include <array>

namespace quarry::exploration {
namespace {

using namespace quarry::net;

/// What a ring's order table is for: a command that is waited for, through two entries.
constexpr std::array<std::string_view, 6> of_rings{"refresh_read_index", "post_status",
                                                   "await_status",       "poll_status",
                                                   "complete_status",    "advance_read_index"};

std::vector<weakening> weakenings_in(comp_net::configuration_choice const& configuration,
                                     std::vector<std::string_view> const& needs) {
  auto all = weakenings_of<shmem::shmem_orders>();
  if (configuration.has_device_calls())
    all = configuration.ring_scope == emu::scope::agent ? both_tables<agent_ring_orders>()
                                                        : both_tables<comp_net::ring_orders>();
  std::erase_if(all, [&](weakening const& w) {
    return std::ranges::find(needs, w.entry) == needs.end() &&
           std::ranges::find(of_rings, w.entry) == of_rings.end();
  });
  return all;
}

/// Where hosts communicate, they are one agent.
std::vector<std::string> at_agent_scope(std::vector<weakening> const& all) {
  std::vector<std::string> names;
  for (weakening const& w : all)
    if (w.to.far == emu::scope::agent)
      names.push_back(w.name());
  return names;
}

} // namespace

std::vector<target> in_every_configuration(program_case const& c) {
  std::vector<target> all;
  for (std::string_view const configuration :
       {comp_net::on_command_processor::name, comp_net::apu::name, comp_net::dgpu::name,
        comp_net::inter_kernel::name, comp_net::cpu::name}) {
    auto const& choice = comp_net::find_configuration(configuration);
    std::string name = c.name;
    if (configuration != comp_net::on_command_processor::name)
      name.append("-").append(configuration);
    std::ranges::replace(name, '_', '-');
    auto weakenings = weakenings_in(choice, c.needs);
    auto nobody_can = choice.has_device_calls() ? c.indistinguishable : at_agent_scope(weakenings);
    all.push_back({.name = std::move(name),
                   .what = std::string(c.what).append("; configuration ").append(configuration),
                   .weakenings = std::move(weakenings),
                   .run = [run = c.run, configuration](
                              world& w, weakening const* weak) { run(w, weak, configuration); },
                   .most_decisions = 100'000,
                   .indistinguishable = std::move(nobody_can),
                   .is_program = true});
  }
  return all;
}

} // namespace quarry::exploration

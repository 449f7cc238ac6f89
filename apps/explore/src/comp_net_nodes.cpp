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

/// What somebody notices. Where hosts communicate, they are one agent: its scope is wide enough.
std::vector<weakening> weakenings_in(comp_net::configuration const& configuration,
                                     program_case const& c) {
  bool const by_kernels = configuration.has_device_calls();
  auto all = weakenings_of<shmem::shmem_orders>();
  if (by_kernels)
    all = configuration.ring_scope == emu::scope::agent ? both_tables<agent_ring_orders>()
                                                        : both_tables<comp_net::ring_orders>();
  auto const is_among = [](auto const& those, std::string const& name) {
    return std::ranges::find(those, name) != those.end();
  };
  std::erase_if(all, [&](weakening const& w) {
    return (!is_among(c.needs, w.entry) && !is_among(of_rings, w.entry)) ||
           (by_kernels ? is_among(c.ordered_otherwise, w.name()) : w.to.far == emu::scope::agent);
  });
  return all;
}

} // namespace

target in_configuration(program_case const& c, std::string_view configuration) {
  std::string name = c.name;
  if (configuration != comp_net::on_command_processor.name)
    name.append("-").append(configuration);
  std::ranges::replace(name, '_', '-');
  return {.name = std::move(name),
          .what = std::string(c.what).append("; configuration ").append(configuration),
          .weakenings = weakenings_in(comp_net::find_configuration(configuration), c),
          .run = [run = c.run,
                  configuration](world& w, weakening const* weak) { run(w, weak, configuration); },
          .most_decisions = 100'000,
          .is_program = true};
}

std::vector<target> in_every_configuration(program_case const& c) {
  std::vector<target> all;
  for (std::string_view const configuration :
       {comp_net::on_command_processor.name, comp_net::apu.name, comp_net::dgpu.name,
        comp_net::inter_kernel.name, comp_net::cpu.name})
    all.push_back(in_configuration(c, configuration));
  return all;
}

} // namespace quarry::exploration

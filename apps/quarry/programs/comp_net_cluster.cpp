// SPDX-License-Identifier: Apache-2.0
#include "comp_net_cluster.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <bit>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

namespace quarry::command {
namespace {

constexpr std::uint32_t most_work_groups = 4096;
constexpr std::uint32_t most_service_threads = 64;
constexpr std::uint32_t most_polling_rounds = 1'000'000;
constexpr std::uint32_t most_ring_entries = 1024;
constexpr std::uint32_t most_processor_cores = 64;
constexpr std::uint32_t most_processor_rounds = 65536;
using net::comp_net::configuration;

constexpr choice<configuration const*> choice_of(configuration const& c) {
  return {c.name.data(), &c}; // a literal
}
constexpr std::array configuration_choices{
    choice_of(net::comp_net::on_command_processor), choice_of(net::comp_net::apu),
    choice_of(net::comp_net::dgpu), choice_of(net::comp_net::inter_kernel),
    choice_of(net::comp_net::cpu)};
/// For gather_values(), and what malloc() rounds up.
constexpr std::size_t spare_heap_bytes = 256 * 1024;

result<void> run_node(run_options const& o, comp_net_settings const& s, native_scheduler& scheduler,
                      std::unique_ptr<net::transport_port> transport, std::size_t heap_bytes,
                      comp_net_body const& body) {
  program_agent gpu(scheduler, machine_of(o, s), {.checks_bounds = o.checks_bounds});
  auto net =
      net::comp_net::node::start(gpu.core(), std::move(transport), node_options(o, s, heap_bytes));
  if (!net)
    return net.error();
  host_threads threads(net->configuration().uses_gpu ? 1 : threads_per_node(o));
  comp_net_node node{net->self().id, net->pe_count(), gpu, *net, threads};
  if (auto const done = body(node); !done)
    return done;
  return net->finish();
}

} // namespace

void add_comp_net_options(CLI::App& command, comp_net_settings& settings) {
  add_choice(command, "--configuration", settings.configuration, configuration_choices,
             "who communicates, and where the network service runs");
  add_number(command, "--work-groups", settings.work_group_count, 1, most_work_groups,
             "work-groups of each node that communicate, each by itself");
  add_number(command, "--service-threads", settings.service_threads, 1, most_service_threads,
             "of the network service, which share the work-groups");
  add_number(command, "--polling-rounds", settings.polling_rounds, 1, most_polling_rounds,
             "of the network service, until it looks at what work-groups wait for");
  add_number(command, "--ring-entries", settings.ring_entries, 1, most_ring_entries,
             "of each work-group's ring of commands, a power of two");
  add_number(command, "--command-processor-cores", settings.processor_cores, 1,
             most_processor_cores, "that dispatch, and serve the network in comp_net");
  add_number(command, "--command-processor-rounds", settings.processor_rounds, 1,
             most_processor_rounds,
             "that a service with work gets, until it is the next one's turn");
}

void check(CLI::App const& command, comp_net_settings const& settings) {
  auto const refuse_each = [&](std::initializer_list<char const*> options, char const* why) {
    for (char const* const option : options)
      if (command.count(option) > 0)
        refuse(option, fmt::format("has no effect where --configuration is {}: {}",
                                   settings.configuration->name, why));
  };
  if (!settings.configuration->uses_gpu)
    refuse_each({"--compute-units", "--wavefront-size", "--check-bounds", "--service-threads",
                 "--polling-rounds", "--ring-entries", "--command-processor-cores",
                 "--command-processor-rounds"},
                "there is no GPU");
  else if (!settings.configuration->has_device_calls())
    refuse_each({"--service-threads", "--polling-rounds", "--ring-entries"},
                "hosts communicate, between kernels");
  if (!std::has_single_bit(settings.ring_entries))
    refuse("--ring-entries", fmt::format("is {}; allowed are powers of two up to {}",
                                         settings.ring_entries, most_ring_entries));
  if (settings.service_threads > settings.work_group_count)
    refuse("--service-threads",
           fmt::format("{} for {} work-groups; allowed is one for each at most",
                       settings.service_threads, settings.work_group_count));
}

void check_groups(run_options const& o, comp_net_settings const& s, std::uint32_t group_size) {
  if (!s.configuration->has_device_calls())
    return; // no kernel waits for another one's
  emu::machine const m = machine_of(o, s);
  std::uint32_t const each = m.groups_per_unit(group_size, net::comp_net::context::lds_bytes);
  if (s.work_group_count > each * m.compute_units)
    refuse("--work-groups",
           fmt::format("{} of {} work-items, which all wait for each other; {} compute units "
                       "(--compute-units) have room for {} each",
                       s.work_group_count, group_size, m.compute_units, each));
}

emu::machine machine_of(run_options const& o, comp_net_settings const& s) {
  emu::machine m = machine_of(o);
  m.command_processor_cores = s.processor_cores;
  m.command_processor_rounds = s.processor_rounds;
  return m;
}

net::comp_net::node::options node_options(run_options const& o, comp_net_settings const& s,
                                          std::size_t heap_bytes) {
  net::comp_net::node::options options;
  options.configuration = s.configuration->name;
  options.rings = s.work_group_count;
  options.ring_entries = s.ring_entries;
  options.service_threads = s.service_threads;
  options.polling_rounds = s.polling_rounds;
  options.shmem.heap_bytes = heap_bytes + spare_heap_bytes;
  options.shmem.timeout = o.timeout;
  options.shmem.most_teams = 1;
  return options;
}

void add_settings(program_result& result, comp_net_settings const& settings) {
  result.settings.push_back({"configuration", std::string(settings.configuration->name)});
  result.settings.push_back({"work-groups", settings.work_group_count});
  result.settings.push_back({"service threads", settings.service_threads});
  result.settings.push_back({"polling rounds", settings.polling_rounds});
  result.settings.push_back({"ring entries", settings.ring_entries});
  result.settings.push_back(
      {"command processor",
       fmt::format("{} cores, {} rounds", settings.processor_cores, settings.processor_rounds)});
}

result<void> run_comp_net_nodes(run_options const& options, comp_net_settings const& settings,
                                std::size_t heap_bytes, comp_net_body const& body) {
  return run_connected(
      options, [&](native_scheduler& scheduler, std::unique_ptr<net::transport_port> transport) {
        return run_node(options, settings, scheduler, std::move(transport), heap_bytes, body);
      });
}

} // namespace quarry::command

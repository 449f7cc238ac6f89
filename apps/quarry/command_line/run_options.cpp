// SPDX-License-Identifier: Apache-2.0
#include "run_options.hpp"

#include <quarry/native_scheduler.hpp>
#include <quarry/net/gravel.hpp>
#include <quarry/net/mpi.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>

namespace quarry::command {
namespace {

constexpr std::uint32_t most_compute_units = 1024;
constexpr std::uint32_t most_threads = 1024;

/// How a launcher has made this process one of several.
struct launcher {
  transport_kind transport;
  char const* sign; ///< what shows it
  char const* size; ///< what says how many there are
  result<net::job> (*find)(run_options const& options);
};

/// What all processes of a job must be told alike, in lines.
std::string terms_of(CLI::App const& command) {
  static constexpr std::array own{"--help",    "--json",    "--nodes",
                                  "--threads", "--timeout", "--transport"};
  std::string terms = command.get_name();
  for (CLI::Option const* const one : command.get_options()) {
    std::string const name = one->get_name();
    if (std::find(own.begin(), own.end(), name) == own.end())
      terms += fmt::format("\n{} {}", name,
                           one->count() == 0 ? one->get_default_str()
                                             : fmt::format("{}", fmt::join(one->results(), " ")));
  }
  return terms;
}

/// The job that a launcher has made, checked against the command line.
result<void> join_job(CLI::App const& command, run_options& options, launcher const& by) {
  auto const& [transport, sign, size, find] = by;
  if (command.count("--transport") > 0 && options.transport != transport)
    refuse("--transport", fmt::format("this process is one node of a job ({}): allowed is {}", sign,
                                      name_of(transport_choices, transport)));
  auto job = find(options);
  if (!job)
    return job.error();
  if (command.count("--nodes") > 0 && options.node_count != job->pe_count)
    refuse("--nodes", fmt::format("read {}, but this process is one of {} nodes ({})",
                                  options.node_count, job->pe_count, size));
  options.transport = transport;
  options.node_count = job->pe_count;
  options.job = *std::move(job);
  options.job->terms = terms_of(command);
  if (command.count("--timeout") > 0)
    options.job->timeout = options.timeout;
  else
    options.timeout = options.job->timeout;
  return {};
}

} // namespace

std::uint32_t threads_per_node(run_options const& options) {
  if (options.thread_count > 0)
    return options.thread_count;
  // mpirun gives each of its processes cores of its own, or all of them the same.
  unsigned const all = options.transport == transport_kind::mpi
                           ? std::thread::hardware_concurrency()
                           : usable_threads();
  return std::min(usable_threads(), std::max(1U, all / options.node_count));
}

void add_run_options(CLI::App& command, run_options& options) {
  add_number(command, "--nodes", options.node_count, 1, net::max_pe_count, "emulated nodes");
  add_choice(command, "--transport", options.transport, transport_choices,
             "what connects them; loopback starts a process for each, mpirun does for mpi");
  add_choice(command, "--scheduler", options.scheduler, scheduler_choices,
             "what decides who runs next");
  if (options.style) {
    add_choice(command, "--style", *options.style, style_choices,
               "how messages of lanes become messages of nodes");
    add_number(command, "--aggregators", options.aggregator_count, 1, net::gravel::most_aggregators,
               "aggregators of each node, each with per-node buffers of its own");
  }
  add_number(command, "--compute-units", options.compute_unit_count, 0, most_compute_units,
             "compute units of each node; 0: one for each of its threads");
  add_choice(command, "--wavefront-size", options.wavefront_size, wavefront_size_choices,
             "lanes of a wavefront");
  add_number(command, "--threads", options.thread_count, 0, most_threads,
             "threads of each node; 0: those that may be used, shared among the nodes");
  if (options.has_seed)
    add_number(command, "--seed", options.seed, 0, UINT64_MAX, "same seed, same input");
  command.add_flag("--check-bounds", options.checks_bounds, "check every access to global memory");
  add_seconds(command, "--timeout", options.timeout,
              "how long a node waits for another before it counts as lost");
  add_output_file(command, "--json", options.json_file, "write the result to this file as well");
}

void check_run_options(run_options const& options) {
  if (options.style == style_kind::simt_direct && options.aggregator_count != 1)
    refuse("--aggregators", fmt::format("read {}, but with --style simt_direct wavefronts fill the "
                                        "buffers themselves: allowed is 1",
                                        options.aggregator_count));
}

result<void> find_job(CLI::App const& command, run_options& options) {
  constexpr launcher quarry{transport_kind::loopback,
                            "QUARRY_RANK, _SIZE, _TOKEN or _ADDRESSES is set", "QUARRY_SIZE",
                            [](run_options const&) { return net::job_from_environment(); }};
  constexpr launcher mpirun{transport_kind::mpi, "mpirun has started it", "as mpirun was told",
                            [](run_options const& o) { return net::mpi::find_job(o.timeout); }};
  if (net::is_launched())
    return join_job(command, options, quarry);
  if (options.transport == transport_kind::mpi || net::mpi::is_launched())
    return join_job(command, options, mpirun);
  if (options.transport != transport_kind::loopback || options.node_count > 1)
    return {};
  auto jobs = net::make_local_jobs(1, options.timeout);
  if (!jobs)
    return jobs.error();
  options.job = std::move(jobs->front());
  return {};
}

bool needs_launch(run_options const& options) {
  return options.transport == transport_kind::loopback && !options.job;
}

} // namespace quarry::command

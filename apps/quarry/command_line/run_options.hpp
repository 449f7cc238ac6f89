// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checked_option.hpp"
#include "output/progress_line.hpp"

#include <quarry/net/job.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace quarry::command {

enum class scheduler_kind { native };
enum class transport_kind { in_process, loopback, mpi };
enum class style_kind { gravel, no_aggregation, simt_direct };

inline constexpr std::array scheduler_choices{choice{"native", scheduler_kind::native}};
inline constexpr std::array transport_choices{choice{"in-process", transport_kind::in_process},
                                              choice{"loopback", transport_kind::loopback},
                                              choice{"mpi", transport_kind::mpi}};
inline constexpr std::array style_choices{choice{"gravel", style_kind::gravel},
                                          choice{"no_aggregation", style_kind::no_aggregation},
                                          choice{"simt_direct", style_kind::simt_direct}};
inline constexpr std::array wavefront_size_choices{choice{"32", std::uint32_t{32}},
                                                   choice{"64", std::uint32_t{64}}};

/// What every program of `quarry run` can be asked for. Validated: each value is an allowed one.
struct run_options {
  std::uint32_t node_count = 1; ///< 1 … net::max_pe_count
  transport_kind transport = transport_kind::in_process;
  scheduler_kind scheduler = scheduler_kind::native;
  std::optional<style_kind> style;      ///< of programs whose messages go through Gravel
  std::uint32_t aggregator_count = 1;   ///< of each node's Gravel
  std::uint32_t compute_unit_count = 0; ///< of each node; 0: one for each of its threads
  std::uint32_t wavefront_size = 64;    ///< 32 or 64
  std::uint32_t thread_count = 0;       ///< of each node; 0: see threads_per_node()
  std::uint64_t seed = 1;
  bool has_seed = true; ///< the program draws something
  bool checks_bounds = false;
  std::chrono::milliseconds timeout{10'000}; ///< of waiting for another node
  std::string json_file;                     ///< empty: none

  /// With `loopback` and `mpi`: which of the nodes this process is. Never set with `in_process`,
  /// where this process is all of them. A program gives its listen_fd away when it opens the
  /// transport.
  std::optional<net::job> job;

  /// Whether this process reports: it has node 0 in it.
  [[nodiscard]] bool is_reporting() const { return !job || job->self.id == 0; }

  [[nodiscard]] progress_line::place progress_place() const {
    return is_reporting() ? progress_line::place::terminal : progress_line::place::nowhere;
  }
};

/// thread_count, or else the machine's threads shared among its nodes, at least one each.
[[nodiscard]] std::uint32_t threads_per_node(run_options const& options);

/// Adds the common options to the subcommand of a program. `options` outlives the parse; it has a
/// style if there is to be an option for that.
void add_run_options(CLI::App& command, run_options& options);

/// Ends with bad usage where options do not go together.
void check_run_options(run_options const& options);

/// Finds out which node this process is, once the options are read.
///
/// Under a launcher (QUARRY_RANK or the like is set) the transport is loopback, under mpirun it is
/// mpi, and the node count that of the job; a command line that says otherwise is refused. The
/// timeout is the command line's, or else the job's.
///
/// Errors   net_errc::bad_environment – the launcher's variables make no job, mpi without mpirun or
///          in a build without MPI; a std::errc – no port
[[nodiscard]] result<void> find_job(CLI::App const& command, run_options& options);

/// Whether the command has to start a process for each node before anything else.
[[nodiscard]] bool needs_launch(run_options const& options);

} // namespace quarry::command

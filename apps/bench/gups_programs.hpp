// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace quarry::bench {

/// A job of GUPS. Shape `nodes` a power of two that divides `updates`, which are those of all nodes
struct gups_size {
  std::uint32_t nodes;
  std::uint32_t log2_entries_per_node;
  std::uint64_t updates;
  std::uint64_t seed;
};

/// What a job has measured of itself, from barrier to barrier.
struct gups_answer {
  std::string failure =
      {}; ///< why there is no answer, or no right one; then the rest means nothing
  double seconds = 0;
  double updates = 0;
  double messages = 0;   ///< of nodes
  double bytes = 0;      ///< in them
  double node_bytes = 0; ///< of memory: table, queues and buffers of a node; 0 if it does not say
};

/// Runs all processes of a job, to their ends. Their standard error passes through.
///
/// Errors throws std::system_error if the command cannot be started
using gups_program = std::function<gups_answer()>;

/// Open MPI over TCP on the loopback interface; `who` is mpi_aggregator or mpi_alltoallv.
///
/// Shape    update_bytes: what an update is on the wire, 4 or 8
[[nodiscard]] gups_program mpi_gups(std::string const& who, gups_size const& size,
                                    std::uint32_t update_bytes);

/// `quarry run gups` in a style of Gravel: a process a node over loopback, one node in process.
[[nodiscard]] gups_program quarry_gups(std::string const& style, gups_size const& size);

} // namespace quarry::bench

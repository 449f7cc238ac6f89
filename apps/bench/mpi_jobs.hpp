// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace quarry::bench {

/// How the ranks of a job reach each other.
enum class mpi_over { shared_memory, tcp }; ///< tcp: on the loopback interface

/// Can this build start jobs of Open MPI?
[[nodiscard]] bool has_mpi();

/// Seconds that one operation takes in a job of `program`, which lies beside this one and is told
/// the bytes and how often; none: the job failed.
[[nodiscard]] std::optional<double> mpi_seconds(mpi_over how, std::string const& program,
                                                std::int64_t ranks, std::int64_t bytes,
                                                std::int64_t times);

} // namespace quarry::bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace quarry::bench {

/// Can this build start jobs of Open MPI?
[[nodiscard]] bool has_mpi();

/// Seconds that MPI_Allreduce takes over TCP on the loopback interface, between so many processes
/// and on average over `times`; none: the job failed.
[[nodiscard]] std::optional<double> mpi_allreduce_seconds(std::int64_t ranks, std::int64_t bytes,
                                                          std::int64_t times);

} // namespace quarry::bench

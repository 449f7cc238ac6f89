// SPDX-License-Identifier: Apache-2.0
#include "mpi_allreduce.hpp"

#include "child_process.hpp"

#include <chrono>
#include <cstdlib>
#include <string>

namespace quarry::bench {

bool has_mpi() {
  return QUARRY_BENCH_MPI != 0;
}

#if QUARRY_BENCH_MPI
std::optional<double> mpi_allreduce_seconds(std::int64_t ranks, std::int64_t bytes,
                                            std::int64_t times) {
  auto const job =
      run_child({QUARRY_BENCH_MPIRUN, "-n", std::to_string(ranks), "--oversubscribe",
                 "--allow-run-as-root", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl",
                 "tcp,self", "--mca", "btl_tcp_if_include", "lo",
                 program_folder() + "/allreduce_mpi", std::to_string(bytes), std::to_string(times)},
                std::chrono::seconds{120});
  if (job.timed_out || job.exit_status != 0)
    return std::nullopt;
  return std::strtod(job.output.c_str(), nullptr);
}
#else
std::optional<double> mpi_allreduce_seconds(std::int64_t, std::int64_t, std::int64_t) {
  return std::nullopt;
}
#endif

} // namespace quarry::bench

// SPDX-License-Identifier: Apache-2.0
#include "mpi_jobs.hpp"

#include "child_process.hpp"

#include <chrono>
#include <cstdlib>
#include <vector>

namespace quarry::bench {

bool has_mpi() {
  return QUARRY_BENCH_MPI != 0;
}

#if QUARRY_BENCH_MPI
std::optional<double> mpi_seconds(mpi_over how, std::string const& program, std::int64_t ranks,
                                  std::int64_t bytes, std::int64_t times) {
  std::vector<std::string> command = {QUARRY_BENCH_MPIRUN,
                                      "-n",
                                      std::to_string(ranks),
                                      "--oversubscribe",
                                      "--allow-run-as-root",
                                      "--bind-to",
                                      "none",
                                      "--mca",
                                      "pml",
                                      "ob1",
                                      "--mca",
                                      "btl",
                                      how == mpi_over::tcp ? "tcp,self" : "vader,self"};
  if (how == mpi_over::tcp)
    command.insert(command.end(), {"--mca", "btl_tcp_if_include", "lo"});
  command.insert(command.end(),
                 {program_folder() + "/" + program, std::to_string(bytes), std::to_string(times)});
  auto const job = run_child(command, std::chrono::seconds{120});
  if (job.timed_out || job.exit_status != 0)
    return std::nullopt;
  return std::strtod(job.output.c_str(), nullptr);
}
#else
std::optional<double> mpi_seconds(mpi_over, std::string const&, std::int64_t, std::int64_t,
                                  std::int64_t) {
  return std::nullopt;
}
#endif

} // namespace quarry::bench

// SPDX-License-Identifier: Apache-2.0
// shmem's contract over MPI: the cases of the suites beside this file, run in every process of an
// MPI job, each of which is a pe. Those of more pes than the job has processes are left out.
#include "shmem_job.hpp"

#include <quarry/net/mpi.hpp>

namespace {

using namespace shmem_test;

void run_over_mpi(std::uint32_t pes, node::options const& o, body const& what) {
  auto found = mpi::find_job(20s);
  REQUIRE_MESSAGE(found.has_value(), (found ? "" : found.error().what));
  job j = *found;
  if (pes > j.pe_count || j.self.id >= pes)
    return;
  j.pe_count = pes;
  auto end = mpi::open(j);
  REQUIRE_MESSAGE(end.has_value(), (end ? "" : end.error().what));
  native_scheduler scheduler({.threads = 1});
  std::string const wrong = run_one(scheduler, std::move(*end), o, what);
  CHECK_MESSAGE(wrong.empty(), wrong);
}

[[maybe_unused]] bool const is_set = [] {
  elsewhere = &run_over_mpi;
  return true;
}();

} // namespace

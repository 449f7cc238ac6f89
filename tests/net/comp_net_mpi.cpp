// SPDX-License-Identifier: Apache-2.0
// What kernels do through ComP-Net, by value, over MPI: the cases of the suites beside this file,
// run in every process of an MPI job, each of which is a node. Those of more nodes than the job has
// processes are left out.
#include "comp_net_job.hpp"

#include <quarry/net/mpi.hpp>

namespace {

using namespace comp_net_test;

void run_over_mpi(job_shape const& s, node_body const& body) {
  auto found = mpi::find_job(std::chrono::milliseconds(20'000));
  REQUIRE_MESSAGE(found.has_value(), (found ? "" : found.error().what));
  job j = *found;
  if (s.nodes > j.pe_count || j.self.id >= s.nodes)
    return;
  j.pe_count = s.nodes;
  CAPTURE(s.configuration);
  CAPTURE(s.nodes);
  CAPTURE(*s.threads);
  auto end = mpi::open(j);
  REQUIRE_MESSAGE(end.has_value(), (end ? "" : end.error().what));
  native_scheduler scheduler({.threads = *s.threads, .stall_timeout = s.stall_timeout});
  run_one(scheduler, std::move(*end), s, body);
}

[[maybe_unused]] bool const is_set = [] {
  elsewhere = &run_over_mpi;
  return true;
}();

} // namespace

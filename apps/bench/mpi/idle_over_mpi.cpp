// SPDX-License-Identifier: Apache-2.0
// idle_over_mpi IDLING SECONDS: nodes on the transport `mpi` that idle (../idle_job.hpp: 0, 1, 2);
// node 0 prints how many cores they keep busy meanwhile.
#include "../idle_job.hpp"

#include <quarry/native_scheduler.hpp>
#include <quarry/net.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  using namespace quarry;
  int const how = argc == 3 ? std::atoi(argv[1]) : -1;
  int const seconds = argc == 3 ? std::atoi(argv[2]) : 0;
  if (how < 0 || how > 2 || seconds < 1) {
    std::fputs("usage: idle_over_mpi 0|1|2 SECONDS\n", stderr);
    return 2;
  }
  net::job const j = net::mpi::find_job(std::chrono::seconds{30}).value();
  double const used =
      bench::idle(net::mpi::open(j).value(), static_cast<bench::idling>(how), seconds);
  native_scheduler scheduler({.threads = 1});
  auto n = net::shmem::node::start(scheduler, net::mpi::open(j).value(), {.heap_bytes = 4096});
  double* const sum = n.value().malloc<double>(1).value().data();
  *sum = used;
  n->world().reduce(net::shmem::reduction::sum, sum, sum, 1).value();
  if (j.self.id == 0)
    std::printf("%.6f\n", *sum / seconds);
  n->finish().value();
}

// SPDX-License-Identifier: Apache-2.0
#include <quarry/net/job.hpp>

#include <cstdio>

int main() {
  auto const job = quarry::net::job_from_environment();
  std::puts(job ? "a node of a job" : job.error().what.c_str());
}

// SPDX-License-Identifier: Apache-2.0
// The last network of its job: afterwards MPI's messages could be mixed up.
#include "transport_exchange.hpp"

#include <quarry/net/mpi.hpp>

#include <mpi.h>

using namespace quarry::net;
using namespace std::chrono_literals;

TEST_SUITE("net.mpi_missing") {
  TEST_CASE("a process that does not open the network is missed by name, then and later") {
    job j = mpi::find_job(contract::bound).value();
    std::uint32_t const last = j.pe_count - 1;
    j.timeout = 50ms;
    if (j.self.id != last)
      for (int again = 0; again < 2; ++again) {
        auto const opened = mpi::open(j);
        REQUIRE(opened.has_error());
        CHECK(opened.error().code == net_errc::timeout);
        CHECK(opened.error().what.find("pe " + std::to_string(last)) != std::string::npos);
      }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(mpi::find_job(contract::bound).has_error() == (j.self.id != last));
  }
}

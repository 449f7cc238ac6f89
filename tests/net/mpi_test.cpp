// SPDX-License-Identifier: Apache-2.0
// Runs in every process of an MPI job of at least three, each of which is a pe.
#include "transport_leaving_contract.hpp"

#include <quarry/net/mpi.hpp>

#include <mpi.h>

using namespace quarry::net;
using namespace std::chrono_literals;

namespace {

job whole_job() {
  auto const found = mpi::find_job(contract::bound);
  REQUIRE(found.has_value());
  return *found;
}

/// The processes after the first `pe_count` have nothing.
contract::ends make(std::uint32_t pe_count) {
  job j = whole_job();
  REQUIRE(pe_count <= j.pe_count);
  contract::ends all(pe_count);
  j.pe_count = pe_count;
  if (j.self.id >= pe_count)
    return all;
  auto opened = mpi::open(j);
  REQUIRE_MESSAGE(opened.has_value(), opened.error().what);
  all[j.self.id] = *std::move(opened);
  return all;
}

} // namespace

TEST_SUITE("net.mpi") {
  TEST_CASE("mpi: delivery") {
    contract::delivers(make);
  }
  TEST_CASE("mpi: limits") {
    contract::limits(make, [] { MPI_Barrier(MPI_COMM_WORLD); });
  }
  TEST_CASE("mpi: ends") {
    contract::ends_well_or_says_so(make);
  }
  TEST_CASE("mpi: leaving") {
    contract::finishes_alone(make);
  }

  TEST_CASE("all processes of the job are one network") {
    auto all = make(whole_job().pe_count);
    contract::all_well(contract::in_threads(
        all, [](transport_port& end) { return contract::exchange(end, 300); }));
    contract::all_well(contract::in_threads(all, contract::finish));
    CHECK(contract::at(all, 0, contract::finish) == ""); // again, and it says the same
  }

  TEST_CASE("who waits for a goodbye that does not come is told from whom") {
    job j = whole_job();
    j.pe_count = 2;
    j.timeout = 1s;              // also to meet in,
    MPI_Barrier(MPI_COMM_WORLD); // hence at the same time
    if (j.self.id < 2) {
      auto const end = mpi::open(j).value();
      if (j.self.id == 0) {
        auto const finished = end->finish();
        REQUIRE(finished.has_error());
        CHECK(finished.error().code == net_errc::timeout);
        CHECK(finished.error().what.find("pe 1") != std::string::npos);
      }
      MPI_Barrier(MPI_COMM_WORLD); // pe 1 is still there
    } else {
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }

  TEST_CASE("a job that this process is no part of is refused") {
    job const whole = whole_job();
    job other = whole;
    other.self.id = (whole.self.id + 1) % whole.pe_count;
    job larger = whole;
    ++larger.pe_count;
    job empty = whole;
    empty.pe_count = 0;
    for (job const& wrong : {other, larger, empty}) {
      auto const opened = mpi::open(wrong);
      REQUIRE(opened.has_error());
      CHECK(opened.error().code == net_errc::no_such_pe);
      CHECK(opened.error().what.find(std::to_string(whole.pe_count)) != std::string::npos);
    }
  }
}

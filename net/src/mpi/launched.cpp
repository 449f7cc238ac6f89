// SPDX-License-Identifier: Apache-2.0
// What needs no MPI to be known.
#include <quarry/net/mpi.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace quarry::net {

static_assert(transport<mpi>);

bool mpi::is_launched() noexcept {
  // Open MPI's mpirun; hydra (MPICH, Intel); any launcher that speaks PMIx.
  static constexpr std::array names{"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
  return std::any_of(names.begin(), names.end(),
                     [](char const* name) { return std::getenv(name) != nullptr; });
}

} // namespace quarry::net

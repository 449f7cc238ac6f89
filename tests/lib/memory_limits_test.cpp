// SPDX-License-Identifier: Apache-2.0
#include <quarry/memory_limits.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <sys/resource.h>

using namespace quarry;

TEST_SUITE("lib.memory_limits") {
  TEST_CASE("a machine has some memory") {
    CHECK(machine_memory() > std::uint64_t{1} << 20);
  }

  TEST_CASE("a process may take what its limit says, which may be all there is") {
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
    if (before.rlim_cur == RLIM_INFINITY)
      CHECK(process_memory() == std::numeric_limits<std::uint64_t>::max());
    rlimit lower = before;
    lower.rlim_cur = rlim_t{1} << 62; // more than anybody takes, sanitizers included
    if (before.rlim_cur < lower.rlim_cur || ::setrlimit(RLIMIT_AS, &lower) != 0) {
      CHECK(process_memory() == before.rlim_cur);
      return;
    }
    CHECK(process_memory() == std::uint64_t{1} << 62);
    REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
  }
}

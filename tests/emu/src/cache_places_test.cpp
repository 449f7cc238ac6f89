// SPDX-License-Identifier: Apache-2.0
#include "cache_places.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <unistd.h>
#include <utility>

using namespace quarry::emu;

namespace {

/// Of this process.
std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0, resident = 0;
  file >> pages >> resident;
  REQUIRE(file.good());
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

} // namespace

TEST_SUITE("emu.cache_places") {
  TEST_CASE("what is left at a place is there, however many others are reached") {
    cache_places p;
    CHECK(p.find(0) == nullptr);
    for (std::uint32_t cell = 0; cell < 10'000; cell += 3)
      p.reach(cell).count = cell;
    for (std::uint32_t cell = 0; cell < 10'000; ++cell) {
      REQUIRE(p.find(cell) == &p[cell]);
      CHECK(p[cell].count == (cell % 3 == 0 ? cell : 0));
      CHECK(p[cell].execution == 0);
    }
    cache_places moved(std::move(p));
    CHECK(moved[9'999].count == 9'999);
    cache_places assigned;
    assigned = std::move(moved);
    CHECK(assigned[9'999].count == 9'999);
    assigned.clear();
    CHECK(assigned.find(0) == nullptr);
    CHECK(assigned.reach(9'999).count == 0);
  }

  TEST_CASE("what nobody reaches takes no memory") {
    constexpr std::uint32_t far = 300'000; // 103 MB
    std::size_t const before = resident_bytes();
    cache_places those[8];
    for (cache_places& p : those) {
      p.reach(far).count = 1;
      CHECK(p.find(far - 1)->count == 0);
    }
    CHECK(resident_bytes() < before + (std::size_t{100} << 20));
  }

  TEST_CASE("executions that are elsewhere each do not add up") {
    constexpr std::uint32_t page = 4096 / sizeof(cache_place) + 1; // a place on each
    constexpr std::uint32_t executions = 50, each = 500;
    cache_places p;
    p.reach(executions * each * page);
    std::size_t const before = resident_bytes();
    std::size_t most = 0;
    for (std::uint32_t execution = 0; execution < executions; ++execution) {
      p.end_execution();
      for (std::uint32_t i = 0; i < each; ++i)
        p.reach((execution * each + i) * page).count = 1;
      most = std::max(most, resident_bytes());
    }
    CHECK(most > before);
    CHECK(most < before + (std::size_t{30} << 20)); // 2 MB each
  }
}

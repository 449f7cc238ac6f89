// SPDX-License-Identifier: Apache-2.0
#include "cache_places.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace quarry::emu;

namespace {

/// Of the memory that the places from 0 to `last` have: what a sanitizer keeps of it is elsewhere.
std::size_t resident_bytes(cache_places const& p, std::uint32_t last) {
  auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto const first = reinterpret_cast<std::uintptr_t>(&p[0]) / page * page;
  auto const end = reinterpret_cast<std::uintptr_t>(&p[last]) + sizeof(cache_place);
  std::vector<unsigned char> is_resident((end - first + page - 1) / page);
  REQUIRE(::mincore(reinterpret_cast<void*>(first), end - first, is_resident.data()) ==
          0); // NOLINT
  return page * static_cast<std::size_t>(std::count_if(is_resident.begin(), is_resident.end(),
                                                       [](auto p) { return (p & 1U) != 0; }));
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
    cache_places those[8];
    std::size_t all = 0;
    for (cache_places& p : those) {
      p.reach(far).count = 1;
      CHECK(p.find(far - 1)->count == 0);
      all += resident_bytes(p, far);
    }
    CHECK(all > 0);
    CHECK(all < (std::size_t{100} << 20));
  }

  TEST_CASE("executions that are elsewhere each do not add up") {
    constexpr std::uint32_t page = 4096 / sizeof(cache_place) + 1; // a place on each
    constexpr std::uint32_t executions = 50, each = 500;
    cache_places p;
    std::uint32_t const last = executions * each * page;
    p.reach(last);
    std::size_t most = 0;
    for (std::uint32_t execution = 0; execution < executions; ++execution) {
      p.end_execution();
      for (std::uint32_t i = 0; i < each; ++i)
        p.reach((execution * each + i) * page).execution = execution + 1;
      most = std::max(most, resident_bytes(p, last));
    }
    CHECK(most >= std::size_t{2} << 20);
    CHECK(most < (std::size_t{30} << 20)); // 2 MB each
  }

  TEST_CASE("executions that reach the same places keep their memory") {
    constexpr std::uint32_t each = 5'000, apart = 7;
    cache_places p;
    for (std::uint32_t execution = 1; execution <= 50; ++execution) {
      for (std::uint32_t i = 0; i < each; ++i) {
        REQUIRE(p.reach(i * apart).execution == execution - 1);
        p[i * apart].execution = execution;
      }
      p.end_execution();
    }
  }
}

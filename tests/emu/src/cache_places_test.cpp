// SPDX-License-Identifier: Apache-2.0
#include "cache_places.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <new>
#include <utility>

using namespace quarry::emu;

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

  TEST_CASE("what nobody reaches takes no memory: many are reached far behind") {
    constexpr std::uint32_t far = 3'000'000; // a gigabyte each, if it did
    cache_places those[64];
    for (cache_places& p : those) {
      p.reach(far).count = 1;
      CHECK(p.find(far - 1)->count == 0);
    }
  }

  TEST_CASE("more than there are addresses for is no memory") {
    cache_places those[4'096]; // 1.4 TB each, of 128
    CHECK_THROWS_AS(
        [&] {
          for (cache_places& p : those)
            p.reach(~std::uint32_t{0}).count = 1;
        }(),
        std::bad_alloc);
  }
}

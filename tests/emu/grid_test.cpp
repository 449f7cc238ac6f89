// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/grid.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <stdexcept>

using quarry::emu::extent;
using quarry::emu::machine;

TEST_SUITE("emu.grid") {
  TEST_CASE("an extent has one dimension unless more are named, and its volume is their product") {
    static_assert(extent().volume() == 1);
    static_assert(extent(7).volume() == 7);
    static_assert(extent(7, 5).volume() == 35);
    static_assert(extent(7, 5, 3).volume() == 105);
    static_assert(extent(7) == extent(7, 1, 1));
    static_assert(extent(0).volume() == 0);
  }

  TEST_CASE("a volume that 64 bits cannot hold is the largest number, not what is left of it") {
    static_assert(extent(1U << 31, 1U << 31, 4).volume() == ~std::uint64_t{0});
    static_assert(extent(~0U, ~0U, ~0U).volume() == ~std::uint64_t{0});
    static_assert(extent(~0U, ~0U, 1).volume() == std::uint64_t{~0U} * ~0U);
    static_assert(extent(~0U, ~0U, 0).volume() == 0);
  }

  TEST_CASE("a number that no extent can be is refused, not cut to 32 bits") {
    CHECK_THROWS_WITH_AS(extent((std::int64_t{1} << 32) + 256),
                         "extent: 4294967552; allowed are 0 to 4294967295", std::invalid_argument);
    CHECK_THROWS_WITH_AS(extent(-1), "extent: -1; allowed are 0 to 4294967295",
                         std::invalid_argument);
    CHECK(extent(std::uint64_t{4294967295}).x == 4294967295);
    constexpr auto too_many = (std::uint64_t{1} << 32) + 3;
    CHECK_THROWS_WITH_AS(extent(too_many, 2), "extent: 4294967299; allowed are 0 to 4294967295",
                         std::invalid_argument);
    CHECK_THROWS_WITH_AS(extent(2, -1), "extent: -1; allowed are 0 to 4294967295",
                         std::invalid_argument);
    CHECK_THROWS_WITH_AS(extent(2, 3, too_many), "extent: 4294967299; allowed are 0 to 4294967295",
                         std::invalid_argument);
    CHECK(extent(2U, std::uint64_t{4294967295}).y == 4294967295);
  }

  TEST_CASE("wavefront slots and LDS say how many groups a compute unit has room for") {
    constexpr machine m{.wavefront_slots = 8, .lds_bytes = 1000, .wavefront_size = 32};
    static_assert(m.groups_per_unit(1, 0) == 8);
    static_assert(m.groups_per_unit(33, 0) == 4);
    static_assert(m.groups_per_unit(33, 300) == 3);
    static_assert(m.groups_per_unit(257, 0) == 0);
    static_assert(m.groups_per_unit(0, 0) == 0);
    static_assert(m.groups_per_unit(~0U, 0) == 0);
  }
}

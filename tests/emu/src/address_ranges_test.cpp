// SPDX-License-Identifier: Apache-2.0
#include "address_ranges.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using quarry::emu::address_ranges;

TEST_SUITE("emu.address_ranges") {
  TEST_CASE(
      "an address is in a range from its first byte to its last, at the ends of memory, too") {
    address_ranges all;
    CHECK(all.is_empty());
    CHECK(!all.contain(0));
    all.add(64, 8);
    all.add(UINTPTR_MAX - 7, 8);
    CHECK(!all.is_empty());
    CHECK(!all.contain(63));
    CHECK(all.contain(64));
    CHECK(all.contain(71));
    CHECK(!all.contain(72));
    CHECK(all.contain(UINTPTR_MAX));
    CHECK(!all.contain(0));
  }

  TEST_CASE("a range is removed by where it begins, others stay") {
    address_ranges all;
    all.add(64, 8);
    all.add(72, 8);
    all.remove(71); // nothing begins there
    CHECK(all.contain(64));
    all.remove(64);
    CHECK(!all.contain(64));
    CHECK(all.contain(72));
    all.clear();
    CHECK(all.is_empty());
  }
}

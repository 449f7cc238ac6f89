// SPDX-License-Identifier: Apache-2.0
#include "lds_writes.hpp"
#include "race_detector.hpp"

#include <doctest/doctest.h>

using quarry::emu::lds_writes;
using quarry::emu::race_detector;

TEST_SUITE("emu.lds_writes") {
  TEST_CASE("bytes are covered once each of them has been written, across words, too") {
    lds_writes all;
    CHECK_FALSE(all.cover(0x1000, 1));
    all.add(0x1006, 4, 1); // two bytes of each of two words
    CHECK(all.cover(0x1006, 4));
    CHECK(all.cover(0x1008, 2));
    CHECK_FALSE(all.cover(0x1005, 4));
    CHECK_FALSE(all.cover(0x1008, 4));
    all.add(0x1000, 6, 2);
    CHECK(all.cover(0x1000, 10));
  }

  TEST_CASE("the last write of a byte counts") {
    race_detector races;
    lds_writes all;
    CHECK(all.of(0x1000, 8, races) == 0);
    all.add(0x1000, 8, 3);
    all.add(0x1004, 4, 5);
    CHECK(all.of(0x1000, 4, races) == 3);
    CHECK(all.of(0x1004, 4, races) == 5);
    CHECK(all.of(0x1008, 8, races) == 0);
  }

  TEST_CASE("what is forgotten nobody has written") {
    lds_writes all;
    all.add(0x1000, 24, 1);
    all.forget(0x1008, 0x1010);
    CHECK(all.cover(0x1000, 8));
    CHECK_FALSE(all.cover(0x1008, 1));
    CHECK(all.cover(0x1010, 8));
    all.clear();
    CHECK_FALSE(all.cover(0x1000, 1));
  }
}

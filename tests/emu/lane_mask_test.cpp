// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/lane_mask.hpp>

#include <doctest/doctest.h>

#include <vector>

using quarry::emu::lane_mask;

TEST_SUITE("emu.lane_mask") {
  TEST_CASE("first_n is a prefix, empty below one and full from 64 on") {
    for (int n = -3; n <= 70; ++n) {
      CAPTURE(n);
      auto const m = lane_mask::first_n(n);
      for (int i = 0; i < 64; ++i)
        CHECK(m.test(i) == (i < n));
    }
    CHECK(lane_mask::all(32).bits() == 0xffff'ffffU);
    CHECK(lane_mask::all(64).bits() == ~std::uint64_t{0});
    CHECK(lane_mask{} == lane_mask::none());
  }

  TEST_CASE("first and last are the outermost lanes, and out of range if there is none") {
    lane_mask const m(0x0010'0000'0000'0100);
    CHECK(m.first() == 8);
    CHECK(m.last() == 52);
    CHECK(m.count() == 2);
    CHECK(lane_mask::none().first() == 64);
    CHECK(lane_mask::none().last() == -1);
    CHECK(lane_mask::none().empty());
    CHECK(lane_mask::only(63).first() == 63);
    CHECK(lane_mask::only(63).last() == 63);
  }

  TEST_CASE("rank counts the lanes below, so that active lanes get consecutive slots") {
    lane_mask const m(0xf0f0'0000'0000'00f1);
    int slot = 0;
    m.for_each([&](int lane) { CHECK(m.rank(lane) == slot++); });
    CHECK(slot == m.count());
    CHECK(m.rank(0) == 0);
    CHECK(m.rank(64) == m.count());
  }

  TEST_CASE("for_each_backwards visits the same ones, descending") {
    std::vector<int> seen;
    lane_mask(0x8000'0000'0000'0015).for_each_backwards([&](int lane) { seen.push_back(lane); });
    CHECK(seen == std::vector<int>{63, 4, 2, 0});
    lane_mask::none().for_each_backwards([](int) { FAIL("it has no lane"); });
  }

  TEST_CASE("for_each visits exactly the lanes of the mask, ascending") {
    std::vector<int> seen;
    lane_mask(0x8000'0000'0000'0015).for_each([&](int lane) { seen.push_back(lane); });
    CHECK(seen == std::vector<int>{0, 2, 4, 63});
  }

  TEST_CASE("set operations agree with the bits") {
    lane_mask const a(0b1100);
    lane_mask const b(0b1010);
    CHECK((a & b).bits() == 0b1000);
    CHECK((a | b).bits() == 0b1110);
    CHECK((a ^ b).bits() == 0b0110);
    CHECK(a.without(b).bits() == 0b0100);
    CHECK((a & !b) == a.without(b));
    CHECK(a.includes(a & b));
    CHECK_FALSE(a.includes(b));
    auto c = a;
    c |= b;
    c &= lane_mask(0b0110);
    c ^= lane_mask(0b0001);
    CHECK(c.bits() == 0b0111);
    c.set(63);
    c.reset(0);
    CHECK(c.bits() == 0x8000'0000'0000'0006);
  }

  TEST_CASE("a mask is full for 32 lanes without the upper half, which is ignored") {
    CHECK(lane_mask(0xffff'ffff).is_full(32));
    CHECK(lane_mask(~std::uint64_t{0}).is_full(32));
    CHECK_FALSE(lane_mask(0xffff'ffff).is_full(64));
    CHECK_FALSE(lane_mask(0x7fff'ffff).is_full(32));
  }

  TEST_CASE("masks are constants") {
    static_assert(lane_mask::first_n(5).count() == 5);
    static_assert((lane_mask(6) & lane_mask(3)).first() == 1);
  }
}

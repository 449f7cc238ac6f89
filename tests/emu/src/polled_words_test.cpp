// SPDX-License-Identifier: Apache-2.0
#include "polled_words.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using quarry::emu::polled_words;

TEST_SUITE("emu.polled_words") {
  TEST_CASE("a loop has ended where another value comes after the same one again and again") {
    polled_words all;
    for (int i = 0; i < 3; ++i)
      CHECK_FALSE(all.read(0x40, 4, 7, 12));
    auto const ended = all.read(0x40, 4, 8, 12);
    REQUIRE(ended);
    CHECK(ended->value == 7);
    CHECK(ended->times == 3);
    CHECK_FALSE(all.read(0x40, 4, 9, 12)); // 8 was read once
  }

  TEST_CASE("another place, width or line is another loop") {
    polled_words all;
    for (int i = 0; i < 2; ++i)
      CHECK_FALSE(all.read(0x40, 4, 7, 12));
    CHECK_FALSE(all.read(0x44, 4, 8, 12));
    CHECK_FALSE(all.read(0x40, 8, 8, 12));
    CHECK_FALSE(all.read(0x40, 4, 8, 13));
    CHECK(all.read(0x40, 4, 8, 12));
  }

  TEST_CASE("the last four are known") {
    polled_words all;
    auto const spin = [&](std::uintptr_t at) {
      for (int i = 0; i < 2; ++i)
        static_cast<void>(all.read(at, 8, 0, 1));
    };
    for (std::uintptr_t at = 0x100; at <= 0x120; at += 8)
      spin(at);
    CHECK_FALSE(
        all.read(0x100, 8, 1, 1)); // the fifth has taken its place; now it takes the next one's
    CHECK_FALSE(all.read(0x108, 8, 1, 1));
    CHECK(all.read(0x118, 8, 1, 1));
    CHECK(all.read(0x120, 8, 1, 1));
  }

  TEST_CASE("what is forgotten may be read anew: all of it, or the words of a range") {
    polled_words all;
    auto const spin = [&] {
      for (std::uintptr_t const at : {0x100U, 0x104U, 0x108U})
        for (int i = 0; i < 2; ++i)
          static_cast<void>(all.read(at, 4, 0, 1));
    };
    spin();
    all.forget(0x104, 4); // the word of eight bytes
    CHECK_FALSE(all.read(0x100, 4, 1, 1));
    CHECK_FALSE(all.read(0x104, 4, 1, 1));
    CHECK(all.read(0x108, 4, 1, 1));
    all = {};
    spin();
    all.forget();
    for (std::uintptr_t const at : {0x100U, 0x104U, 0x108U})
      CHECK_FALSE(all.read(at, 4, 1, 1));
  }
}

// SPDX-License-Identifier: Apache-2.0
#include <quarry/random_bits.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

using quarry::random_bits;

TEST_SUITE("lib.random_bits") {
  TEST_CASE("it is splitmix64") {
    // The first numbers of the authors' splitmix64.c with the state 1234567.
    std::uint64_t const expected[] = {6457827717110365317U, 3203168211198807973U,
                                      9817491932198370423U, 4593380528125082431U,
                                      16408922859458223821U};
    random_bits bits(1234567);
    for (std::uint64_t i = 0; i < 5; ++i) {
      CHECK(bits() == expected[i]);
      CHECK(random_bits::at(1234567, i) == expected[i]);
    }
  }

  TEST_CASE("below(n) is each of 0 … n - 1 about as often") {
    random_bits bits(42);
    std::array<int, 6> count{};
    for (int i = 0; i < 60'000; ++i)
      ++count.at(bits.below(6));
    CHECK(count == std::array<int, 6>{9872, 10068, 10058, 10119, 9985, 9898});
    CHECK(bits.below(1) == 0);
  }

  TEST_CASE("scaled() keeps to its bounds") {
    CHECK(random_bits::scaled(0, 7) == 0);
    CHECK(random_bits::scaled(0xffffffff, 7) == 6);
    CHECK(random_bits::scaled(0xffffffff, 0xffffffff) == 0xfffffffe);
  }
}

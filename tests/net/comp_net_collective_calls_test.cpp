// SPDX-License-Identifier: Apache-2.0
// What tells a chunk of one collective from one of another. What each call does is in the suites
// comp_net_context and comp_net_collectives, what it does not, in the two comp_net_…_faults.
#include <quarry/net/comp_net/collective_calls.hpp>

#include <doctest/doctest.h>

#include <cstdint>

using quarry::net::comp_net::chunk_signal;

TEST_SUITE("net.comp_net_collective_calls") {
  TEST_CASE("a later chunk's signal is greater, whatever else the two say") {
    constexpr std::uint64_t anything[] = {0, 1, (1 << 23) - 1, ~std::uint64_t{0}};
    for (std::uint64_t const number : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 30})
      for (std::uint64_t const barriers : {0U, 1U, 2U, 7U})
        for (std::uint64_t const what : anything)
          for (std::uint64_t const other : anything) {
            std::uint64_t const now = chunk_signal::of(number, barriers, what);
            CHECK(now < chunk_signal::of(number + 1, 0, other));
            CHECK(now >= chunk_signal::of(number, 0, 0)); // what is waited for
            CHECK((now >> chunk_signal::number_bit) == number);
          }
  }

  TEST_CASE("its place is its number, and whether barriers were odd; the rest is not") {
    auto const place = [](std::uint64_t number, std::uint64_t barriers, std::uint64_t what) {
      return chunk_signal::of(number, barriers, what) & chunk_signal::place;
    };
    CHECK(place(3, 4, 0) == place(3, 6, ~std::uint64_t{0}));
    CHECK(place(3, 4, 0) != place(3, 5, 0)); // it has been in the barrier
    CHECK(place(3, 4, 0) != place(4, 4, 0));
    CHECK(place(3, 4, 7) == chunk_signal::of(3, 4, 0));
  }

  TEST_CASE("what is reduced is compared by 23 bits, and goes beyond none of them") {
    CHECK(chunk_signal::of(3, 1, 5) != chunk_signal::of(3, 1, 6));
    CHECK(chunk_signal::of(3, 1, 1 << 22) != chunk_signal::of(3, 1, 0));
    CHECK(chunk_signal::of(3, 0, 1 << 23) == chunk_signal::of(3, 0, 0));
  }
}

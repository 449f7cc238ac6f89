// SPDX-License-Identifier: Apache-2.0
#include "scheduled_programs.hpp"
#include "small_programs.hpp"

#include <quarry/hashed_search.hpp>
#include <quarry/random_bits.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

using quarry::exhaustive_search;
using quarry::hashed_search;
using namespace quarry_test;

TEST_SUITE("lib.hashed_search") {
  TEST_CASE("of actors that share nothing, states are positions, not ways to them") {
    program const p{{{1, true}, {1, true}, {1, true}}, {{2, true}, {2, true}, {2, true}}};
    hashed_search search;
    auto const hashed = all(p, search);
    CHECK(hashed.ends.size() == 1);
    CHECK(all<exhaustive_search>(p).executions == 20);
    CHECK(search.state_count() == 9); // 4 x 4, but for those in which one has come to its end
    CHECK(search.execution_count() == 10);
    CHECK(search.redundant_count() == 4);
    CHECK_FALSE(search.is_bounded());
  }

  TEST_CASE("of actors that share everything there are all") {
    program const p{{{1, true}, {1, false}}, {{1, true}, {1, true}}};
    auto const full = all<exhaustive_search>(p);
    auto const hashed = all<hashed_search>(p);
    CHECK(hashed.executions == full.executions);
    CHECK(hashed.ends == full.ends);
  }

  TEST_CASE("whatever the program, it comes to the same ends as all executions do") {
    auto const needed = compare_with_all<hashed_search>();
    CHECK(2 * needed.searched < needed.all);
  }

  TEST_CASE("so it does within a limit of deviations") {
    quarry::random_bits bits(11);
    std::uint64_t full_count = 0, hashed_count = 0;
    for (int i = 0; i < 300; ++i) {
      program const p = random_program(bits);
      exhaustive_search::limits const most{.deviations = 1 + bits.below(4)};
      exhaustive_search everything(most);
      hashed_search states(most);
      auto const full = all(p, everything);
      auto const hashed = all(p, states);
      CAPTURE(i);
      CAPTURE(most.deviations);
      CHECK(hashed.ends == full.ends);
      if (!states.is_bounded()) // it may find that the limit held nothing new back
        CHECK(hashed.ends == all<exhaustive_search>(p).ends);
      else
        CHECK(everything.is_bounded());
      full_count += full.executions;
      hashed_count += hashed.executions;
    }
    MESSAGE(full_count, " executions, hashed ", hashed_count);
    CHECK(hashed_count < full_count);
  }

  TEST_CASE("so it does where a scheduler's queue says who goes on at no cost") {
    using enum does;
    scheduled const known{{{1, write}, {2, write}},
                          {{2, wait}},
                          {{3, write}, {2, wait}, {3, wait}},
                          {{3, write}, {2, read}, {2, write}}};
    quarry::random_bits bits(5);
    for (std::uint32_t i = 0; i < 120; ++i) {
      scheduled p = known;
      exhaustive_search::limits most{.deviations = i};
      if (i >= 3) {
        p.assign(3, {});
        for (auto& actor : p)
          for (std::uint32_t n = 1 + bits.below(3); n != 0; --n)
            actor.push_back({1 + bits.below(3), static_cast<does>(bits.below(3))});
        most.deviations = 1 + bits.below(3);
      }
      exhaustive_search everything(most);
      hashed_search states(most);
      CAPTURE(i);
      CHECK(all_scheduled(p, states) == all_scheduled(p, everything));
    }
  }

  TEST_CASE("a program that depends on something else is told") {
    hashed_search search;
    std::vector<std::uint32_t> const two{0, 1}, three{0, 1, 2};
    search.begin();
    static_cast<void>(search.pick_actor(two));
    REQUIRE(search.next());
    search.begin();
    CHECK_THROWS_AS(static_cast<void>(search.pick_actor(three)), std::logic_error);
  }
}

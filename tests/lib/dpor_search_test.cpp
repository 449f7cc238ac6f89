// SPDX-License-Identifier: Apache-2.0
#include "small_programs.hpp"

#include <quarry/dpor_search.hpp>
#include <quarry/exhaustive.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <vector>

using quarry::choice_kind;
using quarry::dpor_search;
using quarry::exhaustive_search;
using namespace quarry_test;

TEST_SUITE("lib.dpor_search") {
  TEST_CASE("of actors that share nothing there is one execution that is not given up") {
    program const p{{{1, true}, {1, false}, {1, true}}, {{2, true}, {2, true}}, {{3, true}}};
    dpor_search search;
    std::uint64_t ended = 0;
    do {
      search.begin();
      ended += run(p, search).empty() ? 0 : 1;
    } while (search.next());
    CHECK(ended == 1);
    CHECK(search.execution_count() == 1 + search.redundant_count());
    CHECK(search.execution_count() < all<exhaustive_search>(p).executions / 4);
  }

  TEST_CASE("of actors that share everything there are all") {
    program const p{{{1, true}, {1, false}}, {{1, true}, {1, true}}};
    auto const full = all<exhaustive_search>(p);
    auto const reduced = all<dpor_search>(p);
    CHECK(full.executions == 6);
    CHECK(reduced.executions == 6);
    CHECK(reduced.ends == full.ends);
  }

  TEST_CASE("whatever the program, it comes to the same ends as all executions do") {
    auto const needed = compare_with_all<dpor_search>();
    CHECK(2 * needed.searched < needed.all);
  }

  TEST_CASE(
      "a step that may concern everybody, or acquires what another publishes, is not left out") {
    auto const executions = [](quarry::effect const& one, quarry::effect const& other) {
      dpor_search search;
      do {
        search.begin();
        std::vector<std::uint32_t> const both{0, 1};
        unsigned const first = search.pick_actor(both);
        search.on_effect(first, first == 0 ? one : other);
        search.on_only(1 - first);
        search.on_effect(1 - first, first == 0 ? other : one);
      } while (search.next());
      return search.execution_count() - search.redundant_count();
    };
    CHECK(executions({.word = 1}, {.word = 2}) == 1);
    CHECK(executions({.word = 1}, {.word = 1}) == 2);
    CHECK(executions({.word = 1}, {.is_any = true}) == 2);
    CHECK(executions({.acquires = true}, {.publishes = true}) == 2);
    CHECK(executions({.acquires = true}, {.acquires = true}) == 1);
    CHECK(executions({.publishes = true}, {.publishes = true}) == 1);
  }

  TEST_CASE("who has yielded lets others go first, where that is no pre-emption") {
    std::vector<std::uint32_t> const both{1, 2};
    dpor_search search({.preemptions = 0});
    search.begin();
    search.on_only(1);
    search.on_yield(1);
    CHECK(search.pick_actor(both) == 1);
    CHECK(search.pick_actor(both) == 0);
    dpor_search other({.preemptions = 0});
    other.begin();
    other.on_only(1);
    other.on_yield(1);
    other.on_only(1); // it has gone on since then
    CHECK(other.pick_actor(both) == 0);
  }

  TEST_CASE("a limit of what is stale is none of the order of lanes and groups") {
    auto const executions_of = [](choice_kind kind) {
      dpor_search search(exhaustive_search::limits{.stale = 1});
      do {
        search.begin();
        static_cast<void>(search.pick(2, kind));
        static_cast<void>(search.pick(2, kind));
      } while (search.next());
      return search.execution_count();
    };
    for (auto const late : {choice_kind::value, choice_kind::write_back, choice_kind::message})
      CHECK(executions_of(late) == 3);
    for (auto const free : {choice_kind::lane_order, choice_kind::group_order})
      CHECK(executions_of(free) == 4);
  }

  TEST_CASE("a program that depends on more than its choices is found out") {
    dpor_search search;
    search.begin();
    static_cast<void>(search.pick(2, choice_kind::value));
    REQUIRE(search.next());
    search.begin();
    CHECK_THROWS_AS(static_cast<void>(search.pick(3, choice_kind::value)), std::logic_error);
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "toy_run.hpp"

#include <quarry/random_walk.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using namespace quarry;
using namespace quarry_test;

namespace {

using five = std::array<int, 5>;

/// How often each of five alternatives is picked in 100 000 times.
five counts(random_walk& walk, choice_kind kind) {
  walk.begin(7);
  five count{};
  for (int i = 0; i < 100'000; ++i)
    ++count.at(walk.pick(5, kind));
  return count;
}

} // namespace

TEST_SUITE("lib.random_walk") {
  TEST_CASE("each kind has its rate, and what is not boring is as likely as any other") {
    random_walk walk({.leave_percent = 10, .stale_percent = 2, .write_back_percent = 80});
    // A model of it written in another language counted the same.
    CHECK(counts(walk, choice_kind::actor) == five{90'023, 2477, 2494, 2450, 2556});
    CHECK(counts(walk, choice_kind::value) == five{98'008, 506, 500, 489, 497});
    CHECK(counts(walk, choice_kind::write_back) == five{20'047, 19'885, 19'892, 19'975, 20'201});
    CHECK(counts(walk, choice_kind::message) == counts(walk, choice_kind::actor));
  }

  TEST_CASE("rates of 0 and 100 % are never and always") {
    random_walk walk({.leave_percent = 0, .stale_percent = 100, .write_back_percent = 0});
    CHECK(counts(walk, choice_kind::actor) == five{100'000});
    CHECK(counts(walk, choice_kind::write_back) == five{100'000});
    CHECK(counts(walk, choice_kind::value)[0] == 0);
  }

  TEST_CASE("the oldest value, if at all one that is not the newest") {
    random_walk walk({.stale_percent = 50, .stale_age = choice_rates::age::oldest});
    five const values = counts(walk, choice_kind::value);
    CHECK(values == five{50'079, 0, 0, 0, 49'921});
    CHECK(counts(walk, choice_kind::write_back)[1] > 10'000); // of values only
  }

  TEST_CASE("an actor that may go on is left at its rate; if none may, all are as likely") {
    random_walk walk({.leave_percent = 2});
    walk.begin(3);
    std::uint32_t last = 0;
    int left = 0;
    for (int i = 0; i < 100'000; ++i) {
      std::vector<std::uint32_t> const ready =
          last == 0 ? std::vector<std::uint32_t>{0, 1} : std::vector<std::uint32_t>{1, 0};
      unsigned const next = walk.pick_actor(ready);
      left += next == 0 ? 0 : 1;
      last = ready[next];
    }
    CHECK(left == 1996);

    std::array<int, 3> count{};
    for (std::uint32_t i = 0; i < 30'000; ++i) {
      std::uint32_t const first = 2 + 3 * i; // each time three that have not run
      ++count.at(walk.pick_actor(std::array{first, first + 1, first + 2}));
    }
    CHECK(count == std::array<int, 3>{9928, 10132, 9940});
  }

  TEST_CASE("who yields is not preferred any longer") {
    random_walk walk({.leave_percent = 0});
    walk.begin(11);
    std::array<std::uint32_t, 2> const ready{0, 1};
    while (walk.pick_actor(ready) != 0) {
    }
    for (int i = 0; i < 100; ++i)
      REQUIRE(walk.pick_actor(ready) == 0);
    int gave_way = 0;
    for (int i = 0; i < 100; ++i) {
      walk.on_yield(0);
      gave_way += static_cast<int>(walk.pick_actor(ready));
    }
    CHECK(gave_way > 30);
    CHECK(gave_way < 70);
  }

  TEST_CASE("every interleaving of a small program is found") {
    random_walk walk({.leave_percent = 50});
    std::set<std::string> seen;
    for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
      walk.begin(seed);
      seen.insert(toy_run(walk, {toy_steps(3), toy_steps(3)}));
    }
    CHECK(seen.size() == 20); // 6 over 3
  }

  TEST_CASE("a rate above 100 % is refused") {
    CHECK_THROWS_AS(random_walk({.stale_percent = 101}), std::invalid_argument);
  }

  TEST_CASE("drawn rates are each of five, and lazy at times") {
    random_bits bits(1);
    std::set<unsigned> leave;
    std::set<unsigned> stale;
    std::set<unsigned> write_back;
    int oldest = 0;
    for (int i = 0; i < 1'000; ++i) {
      choice_rates const r = drawn_rates(bits);
      leave.insert(r.leave_percent);
      stale.insert(r.stale_percent);
      write_back.insert(r.write_back_percent);
      oldest += r.stale_age == choice_rates::age::oldest ? 1 : 0;
      CHECK((r.stale_age == choice_rates::age::oldest) == (r.stale_percent == 98));
    }
    CHECK(leave == std::set<unsigned>{2, 10, 30, 50, 80});
    CHECK(stale == std::set<unsigned>{0, 2, 10, 30, 50, 80, 98});
    CHECK(write_back == std::set<unsigned>{0, 2, 10, 30, 50, 80});
    CHECK(oldest == 149);
  }
}

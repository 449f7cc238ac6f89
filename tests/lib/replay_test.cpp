// SPDX-License-Identifier: Apache-2.0
#include "toy_run.hpp"

#include <quarry/random_walk.hpp>
#include <quarry/replay.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace quarry;
using namespace quarry_test;

namespace {

constexpr auto an_actor = choice_kind::actor;
constexpr auto a_value = choice_kind::value;

choice_record three() {
  std::vector<choice> const all{{an_actor, 3, 2}, {a_value, 5, 4}, {an_actor, 2, 1}};
  return choice_record(all);
}

} // namespace

TEST_SUITE("lib.replay") {
  TEST_CASE("what was recorded happens again, each time") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      random_walk walk;
      recorder recorded(walk);
      walk.begin(seed);
      auto const program = [](chooser& c) {
        return toy_run(c, {toy_steps(5), toy_steps(7), toy_steps(3)});
      };
      auto const trace = program(recorded);
      replay again(recorded.record());
      recorder checked(again);
      for (int i = 0; i < 2; ++i) {
        again.begin(0);
        checked.begin();
        CHECK(program(checked) == trace);
        again.end();
        CHECK(!again.diverged());
        CHECK(checked.record() == recorded.record());
      }
    }
  }

  TEST_CASE("past its end it is boring, and that is no divergence") {
    replay r(three());
    r.begin(0);
    CHECK(r.pick(3, an_actor) == 2);
    CHECK(r.pick(5, a_value) == 4);
    CHECK(r.pick(2, an_actor) == 1);
    CHECK(r.pick(100, a_value) == 0);
    r.end();
    CHECK(!r.diverged());
  }

  TEST_CASE("the first choice with other alternatives is named") {
    replay r(three());
    r.begin(0);
    r.pick(3, an_actor);
    CHECK(r.pick(6, a_value) == 4); // still one of them
    CHECK(r.pick(9, a_value) == 1);
    REQUIRE(r.diverged());
    CHECK(r.diverged()->to_string() == "replay diverged at choice 1: recorded is 'value', 4 among "
                                       "5; asked for is 'value', among 6");
    r.begin(0);
    CHECK(!r.diverged());
  }

  TEST_CASE("the first choice of another kind is named") {
    replay r(three());
    r.begin(0);
    r.pick(3, choice_kind::write_back);
    REQUIRE(r.diverged());
    CHECK(r.diverged()->to_string() == "replay diverged at choice 0: recorded is 'actor', 2 among "
                                       "3; asked for is 'write_back', among 3");
  }

  TEST_CASE("a recorded value that there is no longer is 0") {
    replay r(three());
    r.begin(0);
    CHECK(r.pick(2, an_actor) == 0);
    CHECK(r.pick(3, a_value) == 0); // 4 was recorded
    CHECK(r.diverged());
  }

  TEST_CASE("an execution that ends too early is a divergence") {
    replay r(three());
    r.begin(0);
    r.pick(3, an_actor);
    r.pick(5, a_value);
    r.end();
    REQUIRE(r.diverged());
    CHECK(r.diverged()->to_string() == "replay diverged at choice 2: recorded is 'actor', 1 among "
                                       "2; the execution ended");
  }
}

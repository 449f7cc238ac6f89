// SPDX-License-Identifier: Apache-2.0
// What a strategy has that says no more than pick().
#include <quarry/choices.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

using namespace quarry;

namespace {

/// Takes the last alternative, and notes what it was asked for.
struct last_one final : chooser {
  std::vector<std::pair<unsigned, choice_kind>> asked;
  unsigned pick(unsigned n, choice_kind kind) override {
    asked.emplace_back(n, kind);
    return n - 1;
  }
};

} // namespace

TEST_SUITE("lib.choices") {
  TEST_CASE("every kind has a name of its own, those of the trace files") {
    CHECK(to_string(choice_kind::actor) == "actor");
    CHECK(to_string(choice_kind::value) == "value");
    CHECK(to_string(choice_kind::write_back) == "write_back");
    CHECK(to_string(choice_kind::message) == "message");
    std::set<std::string_view> names;
    for (int k = 0; k < choice_kind_count; ++k)
      names.insert(to_string(static_cast<choice_kind>(k)));
    CHECK(names.size() == choice_kind_count);
  }

  TEST_CASE("who goes on is one choice of kind actor, an index into those that are ready") {
    last_one c;
    std::array<std::uint32_t, 3> const ready{7, 0, 900};
    CHECK(c.pick_actor(ready) == 2);
    CHECK(c.pick_actor(std::span(ready).first(2)) == 1);
    REQUIRE(c.asked.size() == 2);
    CHECK(c.asked[0] == std::pair{3U, choice_kind::actor});
    CHECK(c.asked[1] == std::pair{2U, choice_kind::actor});
  }

  TEST_CASE("what it is told besides takes no choice, and it wants neither effects nor an end") {
    last_one c;
    c.on_yield(3);
    c.on_effect(3, {.word = 5, .publishes = true, .acquires = true, .is_any = true});
    c.on_only(3);
    c.on_alone();
    CHECK(c.asked.empty());
    CHECK_FALSE(c.wants_effects());
    CHECK_FALSE(c.is_redundant());
  }

  TEST_CASE("an effect that says nothing concerns nobody") {
    effect const e;
    CHECK(e.word == 0);
    CHECK_FALSE((e.publishes || e.acquires || e.is_any));
  }
}

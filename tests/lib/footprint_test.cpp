// SPDX-License-Identifier: Apache-2.0
#include <quarry/footprint.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using quarry::footprint;

namespace {

footprint of(std::vector<quarry::effect> const& effects) {
  footprint f;
  for (quarry::effect const& e : effects)
    f.add(e);
  return f;
}

bool have_to_do(footprint const& one, footprint const& other) {
  CHECK(one.has_to_do_with(other) == other.has_to_do_with(one));
  return one.has_to_do_with(other);
}

} // namespace

TEST_SUITE("lib.footprint") {
  TEST_CASE("each word once, sorted; 0 is none") {
    auto const f = of({{.word = 7}, {.word = 3}, {}, {.word = 7}, {.word = 5}});
    CHECK(f.words == std::vector<std::uint64_t>{3, 5, 7});
  }

  TEST_CASE("who has to do with whom") {
    auto const nothing = of({});
    auto const word = of({{.word = 3}, {.word = 5}});
    CHECK(have_to_do(word, of({{.word = 5}, {.word = 9}})));
    CHECK_FALSE(have_to_do(word, of({{.word = 4}, {.word = 9}})));
    CHECK_FALSE(have_to_do(word, nothing));
    CHECK_FALSE(have_to_do(nothing, nothing));

    auto const publishes = of({{.publishes = true}});
    auto const acquires = of({{.acquires = true}});
    CHECK(have_to_do(publishes, acquires));
    CHECK_FALSE(have_to_do(publishes, publishes));
    CHECK_FALSE(have_to_do(acquires, acquires));
    CHECK_FALSE(have_to_do(publishes, word));

    auto const any = of({{.is_any = true}});
    CHECK(have_to_do(any, nothing));
    CHECK(have_to_do(any, word));
  }

  TEST_CASE("cleared, it is that of nothing") {
    auto f = of({{.word = 3, .publishes = true, .acquires = true, .is_any = true}});
    f.clear();
    CHECK(f.words.empty());
    CHECK_FALSE(f.has_to_do_with(of({{.word = 3, .publishes = true, .acquires = true}})));
  }
}

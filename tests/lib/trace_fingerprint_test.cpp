// SPDX-License-Identifier: Apache-2.0
#include <quarry/trace_fingerprint.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using quarry::effect;
using quarry::trace_fingerprint;

namespace {

struct step {
  std::uint32_t actor;
  effect does;
  unsigned choice = 0;
};

std::uint64_t of(std::vector<step> const& steps) {
  trace_fingerprint f;
  f.begin();
  for (step const& s : steps) {
    f.begin_step(s.actor);
    f.add_choice(2, s.choice);
    f.add(s.does);
  }
  return f.value();
}

constexpr effect x{.word = 1}, y{.word = 2};

} // namespace

TEST_SUITE("lib.trace_fingerprint") {
  TEST_CASE("the order of steps of different actors on different words does not matter") {
    CHECK(of({{1, x}, {2, y}}) == of({{2, y}, {1, x}}));
    CHECK(of({{1, x}, {2, y}, {1, x}, {2, y}}) == of({{2, y}, {2, y}, {1, x}, {1, x}}));
  }

  TEST_CASE("that of an actor's own steps does, and of those on one word") {
    CHECK(of({{1, x}, {1, y}}) != of({{1, y}, {1, x}}));
    CHECK(of({{1, x}, {2, x}}) != of({{2, x}, {1, x}}));
  }

  TEST_CASE("what comes before by way of others matters") {
    CHECK(of({{1, x}, {2, x}, {4, {.word = 3}}, {2, y}, {3, y}}) ==
          of({{4, {.word = 3}}, {1, x}, {2, x}, {2, y}, {3, y}}));
    CHECK(of({{1, x}, {2, x}, {2, y}, {3, y}}) != of({{2, x}, {1, x}, {2, y}, {3, y}}));
    // The third actor's step on x is before the first's here, and after it there.
    CHECK(of({{3, x}, {1, x}, {2, y}}) != of({{1, x}, {2, y}, {3, x}}));
  }

  TEST_CASE("who acquires comes after who published, and the other way round; not two of a kind") {
    constexpr effect publishes{.publishes = true}, acquires{.acquires = true};
    CHECK(of({{1, publishes}, {2, acquires}}) != of({{2, acquires}, {1, publishes}}));
    CHECK(of({{1, publishes}, {2, publishes}}) == of({{2, publishes}, {1, publishes}}));
    CHECK(of({{1, acquires}, {2, acquires}}) == of({{2, acquires}, {1, acquires}}));
  }

  TEST_CASE("what may concern everybody is ordered with everything") {
    constexpr effect any{.is_any = true};
    CHECK(of({{1, any}, {2, y}}) != of({{2, y}, {1, any}}));
    CHECK(of({{3, x}, {1, any}, {2, y}}) != of({{1, any}, {3, x}, {2, y}}));
    CHECK(of({{1, any}, {2, x}, {3, y}}) == of({{1, any}, {3, y}, {2, x}}));
  }

  TEST_CASE("choices count, and words of one step do so in any order") {
    CHECK(of({{1, x, 0}}) != of({{1, x, 1}}));
    trace_fingerprint one, other;
    for (trace_fingerprint* f : {&one, &other}) {
      f->begin();
      f->begin_step(1);
    }
    one.add(x);
    one.add(y);
    one.add(x);
    other.add(y);
    other.add(x);
    CHECK(one.value() == other.value());
    one.begin();
    CHECK(one.value() == trace_fingerprint().value()); // nothing of the last execution is left
  }
}

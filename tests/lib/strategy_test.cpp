// SPDX-License-Identifier: Apache-2.0
#include "toy_run.hpp"

#include <quarry/boring.hpp>
#include <quarry/replay.hpp>
#include <quarry/strategy.hpp>
#include <quarry/swarm.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace quarry;
using namespace quarry_test;

namespace {

constexpr std::array<std::uint8_t, 12> data{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};

choice_record a_record() {
  std::vector<choice> all(12, {.kind = choice_kind::actor, .n = 3, .value = 1});
  all[4].value = 0;
  all[7].value = 2;
  return choice_record(all);
}

any_strategy made(std::string_view name) {
  auto r = make_strategy(name, {.recorded = a_record(), .bytes = data});
  REQUIRE(r.has_value());
  return std::move(r).value();
}

constexpr std::string_view names[] = {"swarm", "random_walk", "pct", "replay", "bytes", "boring"};

/// Choices of all kinds, as an execution asks for them.
std::vector<choice> program(chooser& c) {
  recorder recorded(c);
  for (int i = 0; i < 3; ++i) {
    toy_run(recorded, {toy_steps(7), toy_steps(9), toy_steps(4)});
    for (unsigned n = 2; n < 40; ++n) {
      recorded.pick(n, choice_kind::value);
      recorded.pick(n, choice_kind::write_back);
    }
  }
  auto const all = recorded.choices();
  return {all.begin(), all.end()};
}

} // namespace

TEST_SUITE("lib.strategy") {
  TEST_CASE("a seed decides an execution, whatever broke off before") {
    for (auto const name : names) {
      CAPTURE(name);
      any_strategy first = made(name);
      any_strategy second = made(name);
      for (std::uint64_t seed = 0; seed < 50; ++seed) {
        CAPTURE(seed);
        first.begin(seed);
        auto const all = program(first);
        second.begin(seed + 1'000);
        program(second);
        second.begin(seed);
        CHECK(program(second) == all);
        CHECK(second.describe() == first.describe());
        first.end();
        second.end();
      }
    }
  }

  TEST_CASE("another seed is another execution, where there is anything random") {
    for (auto const name : names) {
      CAPTURE(name);
      any_strategy s = made(name);
      std::vector<std::uint64_t> hashes;
      for (std::uint64_t seed = 0; seed < 50; ++seed) {
        s.begin(seed);
        hashes.push_back(trace_hash(program(s)));
        s.end();
      }
      std::sort(hashes.begin(), hashes.end());
      auto const distinct = std::unique(hashes.begin(), hashes.end()) - hashes.begin();
      bool const is_random = name == "swarm" || name == "random_walk" || name == "pct";
      CHECK(distinct == (is_random ? 50 : 1));
    }
  }

  TEST_CASE("every choice is one of the alternatives") {
    for (auto const name : names) {
      CAPTURE(name);
      any_strategy s = made(name);
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        s.begin(seed);
        for (unsigned i = 0; i < 600; ++i) {
          unsigned const n = i < 500 ? i + 2 : ~i;
          for (int kind = 0; kind < choice_kind_count; ++kind)
            REQUIRE(s.pick(n, static_cast<choice_kind>(kind)) < n);
        }
        for (std::uint32_t n = 2; n < 100; ++n) {
          std::vector<std::uint32_t> ready;
          for (std::uint32_t a = 0; a < n; ++a)
            ready.push_back((a * 7 + seed) % 100);
          REQUIRE(s.pick_actor(ready) < n);
        }
        s.end();
      }
    }
  }

  TEST_CASE("boring goes on with the same actor, as long as it may and does not yield") {
    boring b;
    b.begin(1);
    CHECK(toy_run(b, {toy_steps(3), toy_steps(2)}) == "aaabb");
    int turns = 0;
    auto const yielding = [&turns] { return ++turns > 6 ? toy_step::is_done : toy_step::yields; };
    CHECK(toy_run(b, {yielding, yielding, yielding}) == "abcabcabc");
  }

  TEST_CASE("a name makes the strategy of that name, with its options") {
    for (auto const name : names)
      CHECK(made(name).name() == name);
    auto walk = make_strategy("random_walk", {.rates = {.leave_percent = 3}});
    CHECK(walk->describe() ==
          "random walk: leaves 3 %, stale 50 %, written back 50 %, reversed 50 %");
    auto deep = make_strategy("pct", {.pct = {.depth = 7, .rates = choice_rates{}}});
    CHECK(deep->describe() ==
          "pct: depth 7, length 64, leaves 50 %, stale 50 %, written back 50 %, reversed 50 %");
    CHECK(made("replay").describe() == "replay of 12 choices, the last 0 of them boring");
    CHECK(made("bytes").describe() == "12 bytes");
  }

  TEST_CASE("an unknown name is refused, and the known ones are named") {
    auto const r = make_strategy("dfs");
    REQUIRE(r.has_error());
    CHECK(r.error().code == std::errc::invalid_argument);
    CHECK(r.error().what == "there is no strategy 'dfs': swarm, random_walk, pct, replay, bytes "
                            "and boring are known");
  }

  TEST_CASE("an option that cannot be is an error, not an exception") {
    auto const rate = make_strategy("random_walk", {.rates = {.stale_percent = 101}});
    REQUIRE(rate.has_error());
    CHECK(rate.error().what == "a rate of choices is 101 %, it must be at most 100 %");
    auto const depth = make_strategy("pct", {.pct = {.depth = 0}});
    REQUIRE(depth.has_error());
    CHECK(depth.error().what ==
          "pct: a depth of 0 and a patience of 1000, both must be at least 1");
    CHECK(make_strategy("boring", {.rates = {.stale_percent = 101}}).has_value()); // not its own
  }

  TEST_CASE("any_strategy does what the strategy in it does, and can be moved") {
    swarm plain;
    any_strategy any(std::in_place_type<swarm>);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      plain.begin(seed);
      any.begin(seed);
      any_strategy moved(std::move(any));
      CHECK(program(moved) == program(plain));
      CHECK(moved.describe() == plain.describe());
      plain.end();
      moved.end();
      any = std::move(moved);
    }
    CHECK(dynamic_cast<swarm*>(&any.choices()) != nullptr);
  }

  TEST_CASE("yielding reaches the strategy, through any_strategy and recorder") {
    pct::options const o{.depth = 1};
    any_strategy any(std::in_place_type<pct>, o);
    recorder recorded(any);
    any.begin(0);
    std::array<std::uint32_t, 2> const ready{0, 1};
    for (std::uint32_t i = 0; i < 10; ++i) {
      unsigned const one = recorded.pick_actor(ready);
      recorded.on_yield(one);
      CHECK(recorded.pick_actor(ready) == 1 - one);
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "toy_run.hpp"

#include <quarry/swarm.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using namespace quarry;
using namespace quarry_test;

namespace {

std::vector<std::string> drawn(std::uint64_t executions) {
  swarm strategy;
  std::vector<std::string> all;
  for (std::uint64_t seed = 0; seed < executions; ++seed) {
    strategy.begin(seed);
    all.push_back(strategy.describe());
    strategy.end();
  }
  return all;
}

std::ptrdiff_t count(std::vector<std::string> const& all, std::string const& part) {
  return std::count_if(all.begin(), all.end(),
                       [&](std::string const& s) { return s.find(part) != s.npos; });
}

} // namespace

TEST_SUITE("lib.swarm") {
  TEST_CASE("every execution draws its strategy and its rates") {
    auto const all = drawn(8'000);
    CHECK(count(all, "swarm: random walk: ") == 4022);
    CHECK(count(all, "swarm: pct: depth 1, ") == 1019);
    CHECK(count(all, "depth 2, ") == 1032);
    CHECK(count(all, "depth 3, ") == 956);
    CHECK(count(all, "depth 4, ") == 971);
    CHECK(count(all, "leaves 2 %") == 1612);
    CHECK(count(all, "leaves 80 %") == 1541);
    CHECK(count(all, "stale 0 %") == 1031);
    CHECK(count(all, "stale 98 % (oldest)") == 955);
    CHECK(count(all, "written back 0 %") == 2013);
  }

  TEST_CASE("it finds a bug of depth 3 and learns lengths from walks, too") {
    swarm strategy;
    int found = 0;
    for (std::uint64_t seed = 0; seed < 4'000; ++seed) {
      strategy.begin(seed);
      found += toy_bug::run(strategy) ? 1 : 0;
      strategy.end();
    }
    CHECK(found == 56);
    CHECK(strategy.expected_length() >= 10);
    CHECK(strategy.expected_length() < 20);
  }

  TEST_CASE("what it drew decides what it does") {
    swarm strategy;
    int lazy = 0;
    for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
      strategy.begin(seed);
      std::string const what = strategy.describe();
      int stale = 0;
      int oldest = 0;
      int written_back = 0;
      for (int i = 0; i < 200; ++i) {
        unsigned const value = strategy.pick(10, choice_kind::value);
        stale += value != 0 ? 1 : 0;
        oldest += value == 9 ? 1 : 0;
        written_back += strategy.pick(3, choice_kind::write_back) != 0 ? 1 : 0;
      }
      CAPTURE(what);
      bool const is_stalest = what.find("(oldest)") != what.npos;
      lazy += is_stalest ? 1 : 0;
      CHECK((stale == 0) <=
            (what.find("stale 0 %") != what.npos || what.find("stale 2 %") != what.npos));
      CHECK((oldest > 180) == is_stalest);
      if (what.find("written back 0 %") != what.npos)
        CHECK(written_back == 0);
    }
    CHECK(lazy > 0);
  }

  TEST_CASE("seeds repeat executions, where those before were as long") {
    std::vector<std::string> first;
    for (int i = 0; i < 2; ++i) {
      swarm strategy;
      std::vector<std::string> all;
      for (std::uint64_t seed = 0; seed < 100; ++seed) {
        strategy.begin(seed);
        all.push_back(toy_run(strategy, {toy_steps(9), toy_steps(9), toy_steps(9)}));
        strategy.end();
      }
      CHECK((first.empty() || all == first));
      first = all;
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "toy_run.hpp"

#include <quarry/choice_record.hpp>
#include <quarry/pct.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using namespace quarry;
using namespace quarry_test;

namespace {

using traces = std::set<std::string>;

traces seen_at(unsigned depth, std::function<std::string(chooser&)> const& program) {
  pct strategy({.depth = depth});
  traces seen;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    strategy.begin(seed);
    seen.insert(program(strategy));
    strategy.end();
  }
  return seen;
}

std::string two_actors(chooser& c) {
  return toy_run(c, {toy_steps(4), toy_steps(4)});
}
std::string three_actors(chooser& c) {
  return toy_run(c, {toy_steps(2), toy_steps(2), toy_steps(2)});
}

/// Of one that is left before its last step.
unsigned preemptions(std::string const& trace) {
  unsigned count = 0;
  for (std::size_t i = 1; i < trace.size(); ++i)
    count += trace[i] != trace[i - 1] && trace.find(trace[i - 1], i) != std::string::npos ? 1 : 0;
  return count;
}

traces with_at_most(unsigned most, std::string sorted) {
  traces all;
  do {
    if (preemptions(sorted) <= most)
      all.insert(sorted);
  } while (std::next_permutation(sorted.begin(), sorted.end()));
  return all;
}

/// Each order of three actors of two steps, and one of them that falls behind the others.
traces one_falls_behind() {
  traces all;
  std::string order = "abc";
  do {
    for (char const late : order)
      for (std::size_t const kept : {0U, 1U, 2U}) { // steps before it does
        std::string trace;
        for (char const a : order)
          trace += std::string(a == late ? kept : 2, a);
        all.insert(trace + std::string(2 - kept, late));
      }
  } while (std::next_permutation(order.begin(), order.end()));
  return all;
}

int bugs_in(pct& strategy, std::uint64_t executions) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < executions; ++seed) {
    strategy.begin(seed);
    found += toy_bug::run(strategy) ? 1 : 0;
    strategy.end();
  }
  return found;
}

/// Runs until another actor has run; does not yield.
struct spinning {
  bool is_over = false;
  std::function<toy_step()> spin(toy_step how) {
    return [this, how] { return is_over ? toy_step::is_done : how; };
  }
  std::function<toy_step()> release() {
    return [this] {
      is_over = true;
      return toy_step::is_done;
    };
  }
};

std::size_t longest_spin(pct& strategy, toy_step how) {
  std::size_t longest = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    spinning s;
    strategy.begin(seed);
    auto const trace = toy_run(strategy, {s.spin(how), s.spin(how), s.spin(how), s.release()});
    strategy.end();
    REQUIRE(s.is_over);
    longest = std::max(longest, trace.size());
  }
  return longest;
}

} // namespace

TEST_SUITE("lib.pct") {
  TEST_CASE("depth 1: every order of the actors, and no pre-emption") {
    CHECK(seen_at(1, two_actors) == with_at_most(0, "aaaabbbb"));
    CHECK(seen_at(1, three_actors) == with_at_most(0, "aabbcc"));
  }

  TEST_CASE("depth d: every execution with d - 1 pre-emptions, and none with more") {
    CHECK(seen_at(2, two_actors) == with_at_most(1, "aaaabbbb"));
    CHECK(seen_at(3, two_actors) == with_at_most(2, "aaaabbbb"));
    CHECK(seen_at(4, two_actors) == with_at_most(3, "aaaabbbb"));
    CHECK(seen_at(2, three_actors) == one_falls_behind());
  }

  TEST_CASE("a bug of depth 3 is found as often as the theorem says, and never at depth 2") {
    // n = 2, k <= 20: 1 / (n k^(d-1)) = 1 / 800.
    pct deep({.depth = 3});
    int const found = bugs_in(deep, 16'000);
    CHECK(found >= 20);
    CHECK(found == 48);
    pct shallow({.depth = 2});
    CHECK(bugs_in(shallow, 16'000) == 0);
  }

  TEST_CASE("an actor that spins starves nobody: after its patience it is put last") {
    pct strategy({.depth = 1, .patience = 50});
    // Three of them, before the one that they wait for; then each sees it.
    CHECK(longest_spin(strategy, toy_step::goes_on) == 3 * 50 + 4);
  }

  TEST_CASE("who yields is put last at once") {
    pct strategy({.depth = 1});
    CHECK(longest_spin(strategy, toy_step::yields) == 3 + 4);
  }

  TEST_CASE("change points do not make it unfair") {
    pct strategy({.depth = 4, .patience = 50});
    CHECK(longest_spin(strategy, toy_step::goes_on) <= 2 * (3 * 50 + 4));
  }

  TEST_CASE("its k is the length of one of the last executions") {
    pct strategy({.depth = 2});
    strategy.begin(1);
    CHECK(strategy.expected_length() == 64); // nothing is known
    for (unsigned length = 1; length <= 40; ++length)
      strategy.learn(length);
    std::set<std::uint32_t> lengths;
    for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
      strategy.begin(seed);
      lengths.insert(strategy.expected_length());
    }
    CHECK(lengths.size() == 16);
    CHECK(*lengths.begin() == 25);
    CHECK(*lengths.rbegin() == 40);
  }

  TEST_CASE("it learns from its own executions: the choices of actors") {
    pct strategy({.depth = 1});
    strategy.begin(0);
    two_actors(strategy); // four choices until one is done
    strategy.end();
    strategy.begin(1);
    CHECK(strategy.expected_length() == 4);
  }

  TEST_CASE("seeds repeat executions, where those before were as long") {
    std::vector<std::string> first;
    for (int i = 0; i < 2; ++i) {
      pct strategy({.depth = 4});
      std::vector<std::string> all;
      for (std::uint64_t seed = 0; seed < 50; ++seed) {
        strategy.begin(seed);
        all.push_back(two_actors(strategy));
        strategy.end();
      }
      CHECK((first.empty() || all == first));
      first = all;
    }
  }

  TEST_CASE("among many, the one with the highest priority runs, too") {
    // 40 actors of 5 steps: all orders of actors are runs of five, if nothing is pre-empted.
    pct strategy({.depth = 1});
    std::set<char> firsts;
    for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
      strategy.begin(seed);
      std::string const trace =
          toy_run(strategy, std::vector<std::function<toy_step()>>(40, toy_steps(5)));
      strategy.end();
      CHECK(preemptions(trace) == 0);
      firsts.insert(trace.front());
    }
    CHECK(firsts.size() == 40);
    strategy.use({.depth = 3});
    unsigned most = 0;
    for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
      strategy.begin(seed);
      most = std::max(
          most,
          preemptions(toy_run(strategy, std::vector<std::function<toy_step()>>(40, toy_steps(5)))));
      strategy.end();
    }
    CHECK(most == 2);
  }

  TEST_CASE("among the same many, a change of priorities is seen at once") {
    std::vector<std::uint32_t> ready;
    for (std::uint32_t a = 0; a < 30; ++a)
      ready.push_back(a);
    pct strategy({.depth = 1, .patience = 5});
    strategy.begin(0);
    std::set<unsigned> seen;
    for (int i = 0; i < 30; ++i) { // each of them for its patience
      unsigned const best = strategy.pick_actor(ready);
      CHECK(seen.insert(best).second);
      for (int again = 0; again < 4; ++again)
        CHECK(strategy.pick_actor(ready) == best);
    }
    for (int i = 0; i < 30; ++i) {
      unsigned const best = strategy.pick_actor(ready);
      strategy.on_yield(ready[best]);
      CHECK(strategy.pick_actor(ready) != best);
    }
  }

  TEST_CASE("values and write-backs are a random walk's, at given rates or drawn ones") {
    pct strategy(
        {.depth = 1, .rates = choice_rates{.stale_percent = 0, .write_back_percent = 100}});
    strategy.begin(1);
    for (int i = 0; i < 100; ++i) {
      CHECK(strategy.pick(9, choice_kind::value) == 0);
      CHECK(strategy.pick(9, choice_kind::write_back) != 0);
    }
    strategy.use({.depth = 1});
    std::set<std::string> drawn;
    for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
      strategy.begin(seed);
      drawn.insert(strategy.describe());
    }
    CHECK(drawn.size() == 5 * 7 * 6); // leave, stale, written back
    CHECK(drawn.contains("pct: depth 1, length 64, leaves 2 %, stale 98 % (oldest), written back 0 "
                         "%, reversed 50 %"));
  }

  TEST_CASE("a depth or a patience of 0 is refused") {
    CHECK_THROWS_AS(pct({.depth = 0}), std::invalid_argument);
    CHECK_THROWS_AS(pct({.patience = 0}), std::invalid_argument);
    CHECK_THROWS_AS(pct({.rates = choice_rates{.stale_percent = 200}}), std::invalid_argument);
  }
}

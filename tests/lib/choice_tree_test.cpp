// SPDX-License-Identifier: Apache-2.0
#include "repetitions.hpp"

#include <quarry/choice_record.hpp>
#include <quarry/choice_tree.hpp>
#include <quarry/pct.hpp>
#include <quarry/random_bits.hpp>
#include <quarry/random_walk.hpp>
#include <quarry/swarm.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

using namespace quarry;

namespace {

/// A made-up execution: what it asks for follows from a number and from the answers so far.
void execute(std::uint64_t world, unsigned most_questions, chooser& choices) {
  std::uint64_t state = random_bits::mixed(world);
  for (unsigned i = 0; i < most_questions && state % 16 != 0; ++i) {
    unsigned const n = 2 + static_cast<unsigned>(state >> 8) % 3;
    unsigned taken = 0;
    if (state % 3 == 0) {
      taken = choices.pick(n, choice_kind::value);
    } else {
      std::vector<std::uint32_t> ready;
      for (std::uint32_t a = 0; a < n; ++a)
        ready.push_back(1 + (a + static_cast<std::uint32_t>(state >> 16)) % 5);
      taken = choices.pick_actor(ready);
      if (state % 5 == 0)
        choices.on_yield(ready[taken]);
    }
    state = random_bits::mixed(state + taken + 1);
  }
}

constexpr std::uint64_t executions = 600;

/// The trace hash of each execution, one after the other.
template<class Strategy>
std::vector<std::uint64_t> all_run(std::uint64_t world, unsigned most_questions) {
  Strategy by;
  recorder seen(by);
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t seed = 0; seed < executions; ++seed) {
    by.begin(seed);
    seen.begin();
    execute(world, most_questions, seen);
    by.end();
    hashes.push_back(seen.trace_hash());
  }
  return hashes;
}

/// The same through a tree; `runs` counts those that were run.
template<class Strategy>
std::vector<std::uint64_t> foreseen(std::uint64_t world, unsigned most_questions,
                                    choice_tree::options const& o, std::uint64_t& runs) {
  Strategy by;
  choice_tree tree(by, o);
  recorder seen(tree);
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t seed = 0; seed < executions; ++seed) {
    by.begin(seed);
    auto const known = tree.foresee();
    if (!known) {
      ++runs;
      seen.begin();
      execute(world, most_questions, seen);
      tree.end(seen.trace_hash());
    }
    by.end();
    hashes.push_back(known.value_or(seen.trace_hash()));
  }
  CHECK(tree.divergence().empty());
  return hashes;
}

template<class Strategy>
void check_same_executions(choice_tree::options const& o) {
  constexpr std::uint64_t worlds = quarry_test::fewer(60);
  std::uint64_t runs = 0;
  for (std::uint64_t world = 0; world < worlds; ++world)
    for (unsigned const most_questions : {3U, 8U, 30U}) {
      CAPTURE(world);
      CAPTURE(most_questions);
      CHECK(foreseen<Strategy>(world, most_questions, o, runs) ==
            all_run<Strategy>(world, most_questions));
    }
  CHECK(runs < executions * worlds * 3);
}

/// Executions that ask as a test says.
class asked {
public:
  explicit asked(choice_tree::options const& o = {}) : tree_(walk_, o) {}

  /// True if it was run. Each number is how many there are to choose from.
  bool execute(std::vector<unsigned> const& questions, std::optional<std::uint64_t> end = 7) {
    walk_.begin(0);
    if (tree_.foresee())
      return false;
    for (unsigned const n : questions)
      static_cast<void>(tree_.pick(n, choice_kind::value));
    tree_.end(end);
    return true;
  }
  choice_tree& tree() { return tree_; }

private:
  random_walk walk_{{.leave_percent = 0, .stale_percent = 0, .write_back_percent = 0}};
  choice_tree tree_;
};

} // namespace

TEST_SUITE("lib.choice_tree") {
  TEST_CASE("executions, and what strategies learn, are the same as if all were run") {
    check_same_executions<random_walk>({});
    check_same_executions<pct>({});
    check_same_executions<swarm>({});
  }

  TEST_CASE("so they are where the tree is full, executions are too long for it, or it gives up") {
    check_same_executions<swarm>({.most_bytes = 1000});
    check_same_executions<swarm>({.most_choices = 2});
    check_same_executions<swarm>({.runs_per_review = 64});
    check_same_executions<swarm>({.known_per_check = 3});
  }

  TEST_CASE("an execution whose choices have all been made is not run again, but for checks") {
    asked one({.known_per_check = 10});
    CHECK(one.execute({2, 3}));
    int runs = 0;
    for (int i = 0; i < 100; ++i)
      runs += one.execute({2, 3}) ? 1 : 0;
    CHECK(runs == 10 + 7); // and the 1st, 2nd, 4th, …
    CHECK(one.tree().divergence().empty());
  }

  TEST_CASE("of other worlds nothing is known") {
    asked one;
    CHECK(one.execute({2, 3}));
    CHECK(one.execute({2, 3}));
    CHECK(one.execute({2, 3}));
    CHECK_FALSE(one.execute({2, 3}));
    one.tree().forget();
    for (int i = 0; i < 3; ++i)
      CHECK(one.execute({4}));
    CHECK_FALSE(one.execute({4}));
    CHECK(one.tree().divergence().empty());
  }

  TEST_CASE("one that has failed, or was cut off, is run again") {
    for (bool const is_told : {false, true}) {
      random_walk walk;
      choice_tree tree(walk);
      for (int i = 0; i < 3; ++i) {
        walk.begin(0);
        CHECK_FALSE(tree.foresee());
        CHECK(tree.pick(2, choice_kind::value) < 2);
        if (is_told)
          tree.end(std::nullopt);
      }
      CHECK(tree.divergence().empty());
    }
  }

  TEST_CASE("an actor may be asked for without numbers") {
    random_walk walk;
    choice_tree tree(walk);
    bool was_known = false;
    for (int i = 0; i < 4; ++i) {
      walk.begin(0);
      if ((was_known = tree.foresee().has_value()))
        break;
      CHECK(tree.pick(3, choice_kind::actor) < 3);
      tree.on_yield(7);
      CHECK(tree.pick_actor(std::vector<std::uint32_t>{4, 7}) < 2);
      tree.end(1);
    }
    CHECK(was_known);
    CHECK(tree.divergence().empty());
  }

  TEST_CASE("who yields belongs to what is the same") {
    random_walk walk;
    choice_tree tree(walk, {.known_per_check = 1});
    for (std::uint32_t who : {1U, 1U, 2U}) {
      CHECK(tree.divergence().empty());
      walk.begin(0);
      CHECK_FALSE(tree.foresee());
      tree.on_yield(who);
      CHECK(tree.pick_actor(std::vector<std::uint32_t>{1, 2}) < 2);
      tree.end(1);
    }
    CHECK(tree.divergence() ==
          "after 0 choices that had been made before others had yielded than before");
  }

  TEST_CASE("where executions never come twice, all are run, and nothing is kept") {
    random_walk walk({.leave_percent = 50, .stale_percent = 50, .write_back_percent = 50});
    choice_tree tree(walk, {.runs_per_review = 16});
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      walk.begin(seed);
      REQUIRE_FALSE(tree.foresee());
      for (int i = 0; i < 60; ++i)
        CHECK(tree.pick(2, choice_kind::value) < 2);
      tree.end(seed);
    }
    // Given up: what the tree would know for sure is run, too.
    for (int i = 0; i < 3; ++i) {
      walk.begin(1);
      CHECK_FALSE(tree.foresee());
      tree.end(1);
    }
  }

  TEST_CASE("the same choices that lead elsewhere are named, and all is run from then on") {
    auto const divergence = [](std::vector<unsigned> const& second,
                               std::optional<std::uint64_t> end) {
      asked one({.known_per_check = 1});
      CHECK(one.execute({2, 3}, 7));
      CHECK(one.execute(second, end));
      CHECK(one.execute({2, 3}, 7));
      return one.tree().divergence();
    };
    CHECK(divergence({2, 3}, 7).empty());
    CHECK(divergence({2, 4}, 7) == "after 1 choices that had been made before it has asked for "
                                   "value of 4, not value of 3 as before");
    CHECK(divergence({2}, 7) ==
          "after 1 choices that had been made before it has ended, where it had gone on");
    CHECK(divergence({2, 3, 2}, 7) ==
          "after 2 choices that had been made before it has gone on, where it had ended");
    CHECK(divergence({2, 3}, 8) ==
          "after 2 choices that had been made before it has come to another end");
    CHECK(divergence({2, 3}, std::nullopt) == // it was cut off
          "after 2 choices that had been made before it has come to another end");
  }
}

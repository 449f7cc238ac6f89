// SPDX-License-Identifier: Apache-2.0
#include <quarry/exhaustive.hpp>
#include <quarry/random_bits.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <list>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using quarry::choice_kind;
using quarry::exhaustive_search;

namespace {

/// Runs `execute` to the end of the search and returns what it gave, in order.
template<class Execute>
auto all(exhaustive_search& search, Execute execute) {
  std::vector<decltype(execute())> results;
  do {
    search.begin();
    results.push_back(execute());
  } while (search.next());
  return results;
}

/// Two actors that add 1 to a counter, each in two steps: load, store.
struct two_counters {
  int counter = 0;
  int loaded[2]{};
  int step[2]{};

  [[nodiscard]] std::uint64_t hash() const {
    std::uint64_t h = 0;
    for (int const part : {counter, loaded[0], loaded[1], step[0], step[1]})
      h = h * 16 + static_cast<std::uint64_t>(part);
    return h;
  }
  void advance(int actor) {
    if (step[actor]++ == 0)
      loaded[actor] = counter;
    else
      counter = loaded[actor] + 1;
  }
  /// One execution; the counter at its end, or -1 if it was pruned.
  int run(exhaustive_search& search) {
    while (step[0] < 2 || step[1] < 2) {
      if (!search.is_new(hash()))
        return -1;
      bool const both = step[0] < 2 && step[1] < 2;
      int const first = step[0] < 2 ? 0 : 1;
      advance(both ? static_cast<int>(search.pick(2, choice_kind::actor)) : first);
    }
    return counter;
  }
};

} // namespace

TEST_SUITE("lib.exhaustive") {
  TEST_CASE("every sequence of choices comes once, in lexical order, and the first is all zeros") {
    exhaustive_search search;
    auto const seen = all(search, [&] {
      std::string word;
      for (unsigned const n : {2U, 3U, 2U})
        word += static_cast<char>('0' + search.pick(n, choice_kind::value));
      return word;
    });
    CHECK(seen == std::vector<std::string>{"000", "001", "010", "011", "020", "021", "100", "101",
                                           "110", "111", "120", "121"});
    CHECK(search.execution_count() == 12);
    CHECK_FALSE(search.is_bounded());
  }

  TEST_CASE("searches that are split from one do what it leaves, in its order, once each") {
    for (std::uint32_t const deviations : {exhaustive_search::limits::unlimited, 2U})
      for (std::uint64_t seed = 0; seed < 50; ++seed) {
        CAPTURE(deviations);
        CAPTURE(seed);
        exhaustive_search::limits const most{.deviations = deviations};
        auto const execute = [seed](exhaustive_search& search) {
          std::string word;
          for (std::uint64_t at = seed; word.size() < 6; at = at * 31 + word.back())
            word += static_cast<char>('0' + search.pick(1 + at % 7 % 3, choice_kind::value));
          return word;
        };
        exhaustive_search whole(most);
        auto const right = all(whole, [&] { return execute(whole); });

        quarry::random_bits bits(seed);
        std::list<exhaustive_search> parts;
        parts.emplace_back(most);
        std::vector<std::string> seen;
        std::uint64_t executions = 0;
        bool is_bounded = false;
        for (auto part = parts.begin(); part != parts.end(); ++part) {
          bool is_left = true;
          while (is_left) {
            part->begin();
            seen.push_back(execute(*part));
            is_left = part->next();
            while (is_left && bits.below(3) == 0)
              if (auto const others = parts.emplace(std::next(part), most); !part->split(*others)) {
                parts.erase(others);
                break;
              }
          }
          executions += part->execution_count();
          is_bounded |= part->is_bounded();
        }
        CHECK(seen == right);
        CHECK(executions == whole.execution_count());
        CHECK(is_bounded == whole.is_bounded());
      }
  }

  TEST_CASE("a limit of deviations leaves those out that have more choices that are not 0") {
    for (std::uint32_t const most : {0U, 1U, 2U, 3U}) {
      exhaustive_search search({.deviations = most});
      auto const seen = all(search, [&] {
        std::string word;
        for (int i = 0; i < 3; ++i)
          word += static_cast<char>('0' + search.pick(2, choice_kind::value));
        return word;
      });
      std::size_t const expected[] = {1, 4, 7, 8};
      CAPTURE(most);
      CHECK(seen.size() == expected[most]);
      for (std::string const& word : seen)
        CHECK(static_cast<std::uint32_t>(std::count(word.begin(), word.end(), '1')) <= most);
      CHECK(search.is_bounded() == (most < 3));
    }
  }

  TEST_CASE("a limit of what is stale is none of the order of lanes and groups") {
    auto const executions_of = [](choice_kind kind) {
      exhaustive_search search({.stale = 1});
      return all(search, [&] { return search.pick(2, kind) + search.pick(2, kind); }).size();
    };
    for (auto const late : {choice_kind::value, choice_kind::write_back, choice_kind::message})
      CHECK(executions_of(late) == 3);
    for (auto const free : {choice_kind::lane_order, choice_kind::group_order})
      CHECK(executions_of(free) == 4);
  }

  TEST_CASE("what is chosen from may depend on what was chosen, and so may the length") {
    exhaustive_search search;
    auto const seen = all(search, [&] {
      std::vector<unsigned> taken{search.pick(3, choice_kind::value)};
      for (unsigned i = 0; i < taken[0]; ++i)
        taken.push_back(search.pick(i + 2, choice_kind::value));
      return taken;
    });
    using words = std::vector<std::vector<unsigned>>;
    CHECK(
        seen ==
        words{
            {0}, {1, 0}, {1, 1}, {2, 0, 0}, {2, 0, 1}, {2, 0, 2}, {2, 1, 0}, {2, 1, 1}, {2, 1, 2}});
  }

  TEST_CASE("what is replayed is what the execution before did, up to its last open choice") {
    exhaustive_search search;
    auto const replayed = all(search, [&] {
      unsigned count = 0;
      for (int i = 0; i < 3; ++i) {
        count += search.is_replaying();
        search.pick(2, choice_kind::value);
      }
      return count;
    });
    CHECK(replayed == std::vector<unsigned>{0, 3, 2, 3, 1, 3, 2, 3});
  }

  TEST_CASE("a program without choices runs once") {
    exhaustive_search search;
    CHECK(all(search, [] { return 7; }) == std::vector{7});
  }

  TEST_CASE("pruning loses no outcome, and sees each state once") {
    exhaustive_search search;
    auto const ends = all(search, [&] { return two_counters{}.run(search); });
    CHECK(std::set<int>(ends.begin(), ends.end()) == std::set{-1, 1, 2});
    CHECK(search.pruned_count() > 0);
    CHECK(search.execution_count() == ends.size());
    std::set<std::uint64_t> states;
    exhaustive_search unpruned;
    auto const all_ends = all(unpruned, [&] {
      two_counters program;
      while (program.step[0] < 2 || program.step[1] < 2) {
        states.insert(program.hash());
        bool const both = program.step[0] < 2 && program.step[1] < 2;
        program.advance(both ? static_cast<int>(unpruned.pick(2, choice_kind::actor))
                             : (program.step[0] < 2 ? 0 : 1));
      }
      return program.counter;
    });
    CHECK(all_ends.size() == 6);
    CHECK(std::set<int>(all_ends.begin(), all_ends.end()) == std::set{1, 2});
    CHECK(search.state_count() == states.size());
  }

  TEST_CASE("a loop that waits for another actor ends, and the search with it") {
    exhaustive_search search;
    // Actor 0 sets a flag, actor 1 spins on it.
    auto const ends = all(search, [&] {
      bool is_set = false;
      bool is_done = false;
      while (!is_done) {
        if (!search.is_new(is_set ? 1U : 2U))
          return false;
        if (is_set || search.pick(2, choice_kind::actor) == 0)
          is_done = is_set;
        else
          is_set = true;
      }
      return true;
    });
    CHECK(ends == std::vector{false, true});
    CHECK(search.state_count() == 2);
  }

  TEST_CASE("at the limit of states the search ends and says that it is bounded") {
    for (std::uint64_t const most : {1U, 2U, 5U}) {
      CAPTURE(most);
      exhaustive_search search({.states = most});
      static_cast<void>(all(search, [&] { return two_counters{}.run(search); }));
      CHECK(search.is_bounded());
      CHECK(search.state_count() == most);
    }
    exhaustive_search unlimited;
    static_cast<void>(all(unlimited, [&] { return two_counters{}.run(unlimited); }));
    exhaustive_search exact({.states = unlimited.state_count()});
    static_cast<void>(all(exact, [&] { return two_counters{}.run(exact); }));
    CHECK_FALSE(exact.is_bounded());
    CHECK(exact.execution_count() == unlimited.execution_count());
  }

  TEST_CASE("a hundred thousand states are told apart, whatever their hashes look like") {
    for (std::uint64_t const stride : {std::uint64_t{1}, std::uint64_t{1} << 32}) {
      exhaustive_search search;
      search.begin();
      for (std::uint64_t i = 1; i <= 100'000; ++i)
        REQUIRE(search.is_new(i * stride));
      for (std::uint64_t i = 1; i <= 100'000; ++i)
        REQUIRE_FALSE(search.is_new(i * stride));
      CHECK(search.state_count() == 100'000);
      CHECK(search.pruned_count() == 100'000);
    }
  }

  TEST_CASE("a program that depends on more than its choices is found out") {
    exhaustive_search search;
    search.begin();
    search.pick(2, choice_kind::actor);
    search.pick(2, choice_kind::actor);
    REQUIRE(search.next());
    search.begin();
    CHECK_THROWS_AS(search.pick(3, choice_kind::actor), std::logic_error);
    search.begin();
    search.pick(2, choice_kind::actor);
    CHECK_THROWS_AS(static_cast<void>(search.next()), std::logic_error);
  }
}

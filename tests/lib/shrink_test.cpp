// SPDX-License-Identifier: Apache-2.0
#include "toy_run.hpp"

#include <quarry/random_bits.hpp>
#include <quarry/random_walk.hpp>
#include <quarry/replay.hpp>
#include <quarry/shrink.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

using namespace quarry;
using namespace quarry_test;

namespace {

using choices = std::vector<choice>;

choice_record noise(std::uint64_t seed, std::uint32_t length) {
  random_bits bits(seed);
  choices all;
  for (std::uint32_t i = 0; i < length; ++i)
    all.push_back({static_cast<choice_kind>(bits.below(choice_kind_count)), 10, bits.below(10)});
  return choice_record(all);
}

std::uint32_t value(choice_record const& r, std::size_t i) {
  return i < r.choices().size() ? r.choices()[i].value : 0;
}

std::vector<std::uint32_t> values(choice_record const& r) {
  std::vector<std::uint32_t> all;
  for (choice const& c : r.choices())
    all.push_back(c.value);
  return all;
}

/// Runs the toy by a record: what it chose, if the bug showed.
std::optional<choice_record> run_bug(choice_record const& by) {
  replay again(by);
  recorder recorded(again);
  again.begin(0);
  bool const showed = toy_bug::run(recorded);
  again.end();
  return showed ? std::optional(recorded.record()) : std::nullopt;
}

choice_record failing_walk(std::uint64_t seed) {
  random_walk walk;
  recorder recorded(walk);
  for (;; seed += 1'000) {
    walk.begin(seed);
    recorded.begin();
    if (toy_bug::run(recorded))
      return recorded.record();
  }
}

} // namespace

TEST_SUITE("lib.shrink") {
  TEST_CASE("what every run chooses by itself, behind the record, keeps none from being smaller") {
    auto const with_an_end = [](choice_record const& by) -> std::optional<choice_record> {
      if (value(by, 7) == 0)
        return std::nullopt;
      choices all(by.choices().begin(), by.choices().end());
      all.resize(std::max<std::size_t>(all.size(), 50), {choice_kind::actor, 2, 0});
      all.resize(all.size() + 500, {choice_kind::actor, 2, 1});
      return choice_record(all);
    };
    choices failing(300, {choice_kind::actor, 10, 4});
    auto const s = shrink(*with_an_end(choice_record(failing)), failing_execution(with_an_end));
    CHECK(values(s.record) == std::vector<std::uint32_t>{0, 0, 0, 0, 0, 0, 0, 1});
    CHECK(s.runs < 200);
  }

  TEST_CASE("two choices that matter among many are what is left, with the smallest values") {
    auto const fails = [](choice_record const& r) { return value(r, 7) != 0 && value(r, 40) >= 3; };
    int tried = 0;
    for (std::uint64_t seed = 0; tried < 20; ++seed) {
      choice_record const failing = noise(seed, 200);
      if (!fails(failing))
        continue;
      ++tried;
      CAPTURE(seed);
      auto const s = shrink(failing, fails);
      std::vector<std::uint32_t> expected(41, 0);
      expected[7] = 1;
      expected[40] = 3;
      CHECK(values(s.record) == expected);
      CHECK(s.is_reproduced);
      CHECK(s.is_minimal);
      CHECK(s.runs < 400);
    }
  }

  TEST_CASE("what fails always shrinks to nothing, at once") {
    auto const s = shrink(noise(1, 1'000), [](choice_record const&) { return true; });
    CHECK(s.record == choice_record());
    CHECK(s.runs < 15); // a bisection
    CHECK(s.is_minimal);
  }

  TEST_CASE("neighbours that matter are moved to the front") {
    auto const fails = [](choice_record const& r) {
      for (std::size_t i = 0; i + 1 < r.choices().size(); ++i)
        if (value(r, i) >= 2 && value(r, i + 1) == 5)
          return true;
      return false;
    };
    int tried = 0;
    for (std::uint64_t seed = 0; tried < 20; ++seed) {
      choice_record const failing = noise(seed, 100);
      if (!fails(failing))
        continue;
      ++tried;
      auto const s = shrink(failing, fails);
      CHECK(values(s.record) == std::vector<std::uint32_t>{2, 5});
    }
  }

  TEST_CASE("what a smaller value makes possible is tried, too") {
    // The first one matters only while the fourth is more than 1.
    auto const fails = [](choice_record const& r) {
      return value(r, 3) == 1 || (value(r, 3) > 1 && value(r, 0) != 0);
    };
    choices all(4, {choice_kind::value, 10, 0});
    all[0].value = all[3].value = 5;
    auto const s = shrink(choice_record(all), fails);
    CHECK(values(s.record) == std::vector<std::uint32_t>{0, 0, 0, 1});
  }

  TEST_CASE("no single step makes the result smaller, where many together matter") {
    auto const fails = [](choice_record const& r) {
      std::uint32_t sum = 0;
      for (std::uint32_t const v : values(r))
        sum += v;
      return sum >= 100 && sum % 3 == 1;
    };
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      choice_record const failing = noise(seed, 60);
      if (!fails(failing))
        continue;
      CAPTURE(seed);
      auto const s = shrink(failing, fails);
      CHECK(fails(s.record));
      CHECK(s.is_minimal);
      choices all(s.record.choices().begin(), s.record.choices().end());
      for (choice& c : all) {
        std::uint32_t const was = c.value;
        if (was == 0)
          continue;
        c.value = 0;
        CHECK(!fails(choice_record(all)));
        c.value = was - 1;
        CHECK(!fails(choice_record(all)));
        c.value = was;
      }
    }
  }

  TEST_CASE("an execution of a program shrinks to the pre-emptions that the bug takes") {
    std::size_t two = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      CAPTURE(seed);
      choice_record const failing = failing_walk(seed);
      auto const s = shrink(failing, run_bug);
      CHECK(s.is_minimal);
      CHECK(s.record.preemption_count() <= 3); // the first actor is a choice, too
      two += s.record.preemption_count() == 2 ? 1 : 0;
      // It is what an execution really chose: it replays, and exactly.
      auto const again = run_bug(s.record);
      REQUIRE(again);
      CHECK(*again == s.record);
    }
    CHECK(two == 20);
  }

  TEST_CASE("a bound on the runs is kept, and what failed by then is returned") {
    auto const fails = [](choice_record const& r) { return value(r, 7) != 0 && value(r, 40) != 0; };
    std::size_t const whole = shrink(noise(2, 200), fails).runs;
    for (std::size_t most = 1; most < whole; ++most) {
      int runs = 0;
      auto const s = shrink(noise(2, 200),
                            [&](choice_record const& r) {
                              ++runs;
                              return fails(r);
                            },
                            {.most_runs = most});
      CHECK(s.runs == most);
      CHECK(runs == static_cast<int>(most));
      CHECK(!s.is_minimal);
      CHECK(fails(s.record));
    }
    CHECK(shrink(noise(2, 200), fails, {.most_runs = whole}).is_minimal);
  }

  TEST_CASE("the same failure shrinks in the same way") {
    choice_record const failing = failing_walk(5);
    std::vector<choice_record> tried[2];
    for (auto& all : tried)
      static_cast<void>(shrink(failing, [&](choice_record const& r) {
        all.push_back(r);
        return run_bug(r);
      }));
    CHECK(tried[0].size() > 10);
    CHECK(tried[0] == tried[1]);
    for (std::size_t i = 0; i < tried[0].size(); ++i) // and never the same twice
      CHECK(std::count(tried[0].begin(), tried[0].end(), tried[0][i]) == 1);
  }

  TEST_CASE("what makes an execution choose more than its record says makes it no smaller") {
    choice_record const failing = noise(3, 20);
    auto const s = shrink(failing, failing_execution([&](choice_record const& r) {
                            std::vector<choice> all(r.choices().begin(), r.choices().end());
                            if (r != failing)
                              all.resize(100, choice{choice_kind::actor, 2, 1});
                            return std::optional(choice_record(all));
                          }));
    CHECK(s.record == failing);
    CHECK(s.is_reproduced);
  }

  TEST_CASE("a failure that does not fail again is said to be so, and left as it is") {
    choice_record const failing = noise(1, 50);
    auto const s = shrink(failing, [](choice_record const&) { return false; });
    CHECK(!s.is_reproduced);
    CHECK(!s.is_minimal);
    CHECK(s.runs == 1);
    CHECK(s.record == failing);
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "toy_run.hpp"

#include <quarry/boring.hpp>
#include <quarry/bytes.hpp>
#include <quarry/choice_record.hpp>
#include <quarry/replay.hpp>
#include <quarry/strategy.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

using namespace quarry;
using namespace quarry_test;

namespace {

static_assert(strategy<boring>);

/// Two actors that look at three values each, and yield once.
std::string observed(chooser& c) {
  std::string seen;
  auto const looking = [&seen, &c](unsigned steps) {
    return [&seen, &c, steps]() mutable {
      seen += std::to_string(c.pick(3, choice_kind::value));
      seen += std::to_string(c.pick(2, choice_kind::write_back));
      if (--steps == 0)
        return toy_step::is_done;
      return steps == 2 ? toy_step::yields : toy_step::goes_on;
    };
  };
  return toy_run(c, {looking(3), looking(4)}) + " " + seen;
}

} // namespace

TEST_SUITE("lib.boring") {
  TEST_CASE("whatever is asked for, the answer is 0, in every execution") {
    boring b;
    std::vector<std::uint32_t> const ready{6, 2, 9};
    for (std::uint64_t const seed : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      b.begin(seed);
      for (unsigned const n : {2U, 3U, ~0U})
        for (int kind = 0; kind < choice_kind_count; ++kind)
          CHECK(b.pick(n, static_cast<choice_kind>(kind)) == 0);
      b.on_yield(6); // who has yielded is offered last: no choice has to avoid it
      CHECK(b.pick_actor(ready) == 0);
      b.end();
    }
  }

  TEST_CASE("only who yields or has ended lets others go on, and nothing seen is old") {
    boring b;
    CHECK(observed(b) == "abbaabb 00000000000000");
  }

  TEST_CASE("an execution of no bytes, and one that repeats an empty record, are the boring one") {
    boring b;
    bytes nothing({});
    replay empty{choice_record{}};
    nothing.begin(1);
    empty.begin(1);
    std::string const expected = observed(b);
    CHECK(observed(nothing) == expected);
    CHECK(observed(empty) == expected);
    recorder recorded(b);
    CHECK(observed(recorded) == expected);
    CHECK(recorded.record().choices().empty()); // zeros at the end are not kept
    CHECK(recorded.record().nonzero_count() == 0);
  }

  TEST_CASE("it is called boring, and has nothing else to say of itself") {
    CHECK(boring::name() == "boring");
    CHECK(boring().describe() == "boring");
  }
}

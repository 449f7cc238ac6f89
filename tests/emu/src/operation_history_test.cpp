// SPDX-License-Identifier: Apache-2.0
#include "agents.hpp"
#include "explored_hosts.hpp"
#include "operation_history.hpp"

#include <quarry/report.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

std::ptrdiff_t line_count(std::string const& text) {
  return std::count(text.begin(), text.end(), '\n');
}

} // namespace

TEST_SUITE("emu.operation_history") {
  TEST_CASE("history has a line for each operation, but one for many of a line of the program") {
    named_row m;
    m.begin(true);
    auto const line = here();
    for (word i = 0; i < 3; ++i)
      put(m.port(0), &m.words[i], 10 + i, line);
    m.port(1).fence(order::acquire, scope::agent, line);
    put(m.port(0), &m.words[0], 20, line);
    std::string const text = m.memory.history();
    INFO(text);
    CHECK(line_count(text) == 3);
    CHECK(contains(text, "row[0] = 0xa … row[2] = 0xc (3 times)"));
    CHECK(contains(text, "bob                    fence  acquire agent"));
    CHECK(contains(text, "    5  ann                    store  plain              row[0] = 0x14"));
  }
  TEST_CASE("it is of the last forty lines, and ends with a failure") {
    named_row m;
    m.begin(true);
    for (word i = 0; i < 50; ++i) // in turns: a line each
      static_cast<void>(get(m.port(i % 2), &m.words[0]));
    std::string const text = m.memory.history();
    CHECK(line_count(text) == 40);
    CHECK(text.starts_with("     11  "));
    m.memory.found({"check", "a.cpp:1", "wrong"});
    put(m.port(0), &m.words[0], 1);
    CHECK(m.memory.history() == text);
    m.begin(false);
    put(m.port(0), &m.words[0], 1);
    CHECK(m.memory.history() == "");
  }
  TEST_CASE("an old value is told with what is newer, in the history and in a failed check") {
    named_row m({.detects_races = false});
    every_choice choices;
    std::set<word> seen;
    do {
      m.begin(choices, true);
      auto const store = here(), load = here();
      m.port(0).store(&m.words[0], word{1}, order::release, scope::system, store);
      word const got = m.port(1).load(&m.words[0], order::relaxed, scope::system, load);
      seen.insert(got);
      m.memory.found({"check", "a.cpp:1", "wrong"});
      std::string const newer = "; ann has written 0x1 at " + to_string(store) + " (operation 1)\n";
      CAPTURE(m.memory.history());
      CHECK(contains(m.memory.history(), ", stale" + newer) == (got == 0));
      CHECK(m.report() == (got == 0 ? "wrong\n  stale    bob has read row[0] = 0x0 at " +
                                          to_string(load) + ": old" + newer
                                    : "wrong\n"));
    } while (choices.advance());
    CHECK(seen == std::set<word>{0, 1});
  }

  TEST_CASE("a compare-exchange that has failed is told, and is not what an old value hides") {
    named_row m({.detects_races = false});
    every_choice choices;
    bool has_failed = false, is_old = false;
    do {
      m.begin(choices, true);
      auto const replace = [&](word old) {
        m.port(0).update(&m.words[0], order::relaxed, scope::system, here(), [old](word now) {
          return now == old ? std::optional(old + 1) : std::nullopt;
        });
      };
      replace(0);
      replace(7);
      word const got = m.port(1).load(&m.words[0], order::relaxed, scope::system, here());
      std::string const text = m.memory.history();
      CAPTURE(text);
      has_failed = has_failed || contains(text, ", failed\n");
      CHECK(line_count(text) == 3);
      CHECK_FALSE(contains(text, "(operation 2)"));
      is_old = is_old || (got == 0 && contains(text, "ann has written 0x1") &&
                          contains(text, "(operation 1)"));
    } while (choices.advance());
    CHECK(has_failed);
    CHECK(is_old);
  }

  TEST_CASE("a store that has come later than it was done is told by who reads it") {
    named_row m({.detects_races = false});
    every_choice choices;
    std::set<word> seen;
    do {
      m.begin(choices, true);
      m.port(0).store(&m.words[0], word{1}, order::relaxed, scope::system, here());
      m.port(1).store(&m.words[0], word{2}, order::relaxed, scope::system, here());
      m.port(0).fence(order::release, scope::system, here());
      m.port(0).store(&m.words[2], word{1}, order::relaxed, scope::system, here());
      m.port(1).fence(order::release, scope::system, here());
      m.port(1).store(&m.words[3], word{1}, order::relaxed, scope::system, here());
      static_cast<void>(m.port(2).load(&m.words[2], order::acquire, scope::system, here()));
      static_cast<void>(m.port(2).load(&m.words[3], order::acquire, scope::system, here()));
      word const got = m.port(2).load(&m.words[0], order::relaxed, scope::system, here());
      std::string const text = m.memory.history();
      if (contains(text, ", stale"))
        continue;
      CAPTURE(text);
      seen.insert(got);
      CHECK(contains(text, "; operation 1 has come there after operation 2\n") == (got == 1));
    } while (choices.advance());
    CHECK(seen == std::set<word>{1, 2});
  }

  TEST_CASE("words that do not follow each other have a line each, though they are of one line") {
    named_row m;
    m.begin(true);
    auto const line = here();
    for (std::size_t const i : {0U, 1U, 3U})
      put(m.port(0), &m.words[i], 1, line);
    CHECK(contains(m.memory.history(), "(2 times)"));
    CHECK(line_count(m.memory.history()) == 2);
  }

  TEST_CASE("words are numbered by first use, anew in each execution, where it is kept") {
    explored_hosts m;
    operation_history all(m.memory);
    operation_history::operation const load{0, "load", {}, scope::work_item, 0x1000, 4, 1, {}, {}};
    operation_history::operation fence = load, other = load;
    fence.what = "fence";
    fence.at = 0;
    other.at = 0x2000;
    m.begin();
    m.port(0);
    all.begin(true);
    CHECK(all.is_kept());
    CHECK_FALSE(all.number_of(load.at));
    for (auto const& one : {load, fence, load, other})
      all.add(one, false);
    CHECK(all.number_of(load.at) == 0);
    CHECK(all.number_of(other.at) == 1);
    CHECK_FALSE(all.number_of(0));
    all.begin(false);
    CHECK_FALSE(all.is_kept());
    CHECK_FALSE(all.number_of(load.at));
    CHECK(all.lines() == "");
    CHECK(all.stale_read() == "");
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "line_table.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <set>

using namespace quarry::emu;

namespace {

struct line {
  std::uintptr_t number;
  std::uint32_t generation = 0;
  int uses;
  void begin() noexcept { uses = 0; }
};

std::set<std::uintptr_t> numbers_in(line_table<line>& t, std::uintptr_t first, std::uintptr_t end) {
  std::set<std::uintptr_t> all;
  t.for_each(first, end, [&](line& l) { CHECK(all.insert(l.number).second); });
  return all;
}

} // namespace

TEST_SUITE("emu.line_table") {
  TEST_CASE("a line is what was left there, until the table is cleared") {
    line_table<line> t;
    CHECK(t.is_empty());
    for (int generation = 0; generation < 3; ++generation) {
      for (int round = 0; round < 3; ++round)
        for (std::uintptr_t i = 0; i < 1'000; ++i) { // it grows meanwhile
          line& l = t[i * i];
          CHECK(l.number == i * i);
          CHECK(l.uses++ == round);
        }
      CHECK(!t.is_empty());
      t.clear();
      CHECK(t.is_empty());
      CHECK(numbers_in(t, 0, ~std::uintptr_t{0}).empty());
    }
  }

  TEST_CASE("the last few are at hand") {
    line_table<line> t;
    CHECK(t.recent(7) == nullptr);
    line* const l = &t[7];
    CHECK(t.recent(7) == l);
    CHECK(t.recent(3) == nullptr); // of the same place
    static_cast<void>(t[3]);
    CHECK(t.recent(7) == nullptr);
    t.clear();
    CHECK(t.recent(3) == nullptr);
  }

  TEST_CASE("those of a range are found, be it small or large") {
    line_table<line> t;
    std::mt19937_64 random(5); // NOLINT(cert-msc51-cpp): the same every time
    std::set<std::uintptr_t> all;
    for (int i = 0; i < 500; ++i) {
      std::uintptr_t const number = random() % 10'000;
      all.insert(number);
      static_cast<void>(t[number]);
    }
    for (std::uintptr_t const size : {0U, 1U, 100U, 1'000U, 10'000U})
      for (std::uintptr_t const first : {0U, 17U, 5'000U})
        CHECK(numbers_in(t, first, first + size) ==
              std::set(all.lower_bound(first), all.lower_bound(first + size)));
    CHECK(numbers_in(t, 0, ~std::uintptr_t{0}) == all);
  }
}

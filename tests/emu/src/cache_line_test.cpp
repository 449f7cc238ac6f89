// SPDX-License-Identifier: Apache-2.0
#include "cache_line.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>

using namespace quarry::emu;

namespace {

using line = std::array<std::byte, line_values::bytes>;

/// Bytes first, first + 1, …
line counting_from(unsigned first) {
  line l;
  for (std::byte& b : l)
    b = static_cast<std::byte>(first++);
  return l;
}

line value_of(line_values const& values, line_values::id i) {
  line l;
  std::memcpy(l.data(), values.at(i), l.size());
  return l;
}

/// The word as its bytes say.
std::uint64_t word_of(line const& l, unsigned offset, unsigned size) {
  std::uint64_t w = 0;
  for (unsigned i = size; i != 0; --i)
    w = w << 8 | static_cast<unsigned>(l[offset + i - 1]);
  return w;
}

} // namespace

TEST_SUITE("emu.cache_line") {
  TEST_CASE("a word is its bytes and no others, of every size and at every place") {
    line_values values;
    line expected = counting_from(0xb0);
    auto const i = values.add(expected.data());
    for (unsigned const size : {1U, 2U, 4U, 8U})
      for (unsigned offset = 0; offset < line_values::bytes; offset += size) {
        CAPTURE(size);
        CAPTURE(offset);
        CHECK(values.word(i, offset, size) == word_of(expected, offset, size));
        values.set_word(i, offset, size, 0xf1f2'f3f4'f5f6'f7f8); // what is beyond the size is not
        for (unsigned b = 0; b < size; ++b)
          expected[offset + b] = static_cast<std::byte>(0xf8 - b);
        CHECK(value_of(values, i) == expected);
        CHECK(values.word(i, offset, size) == word_of(expected, offset, size));
      }
  }

  TEST_CASE("a copy is a line of its own, also where room has to be found for it") {
    line_values values;
    line const first = counting_from(1);
    auto const origin = values.add(first.data());
    std::set<line_values::id> ids{origin};
    for (unsigned n = 1; n <= 1'000; ++n) {
      auto const i = values.copy(origin);
      REQUIRE(ids.insert(i).second);
      REQUIRE(value_of(values, i) == first);
      values.set_word(i, 0, 8, n);
      REQUIRE(values.word(i, 0, 8) == n);
    }
    CHECK(value_of(values, origin) == first);
    CHECK_FALSE(ids.contains(line_values::none));
    std::uint64_t sum = 0;
    for (auto const i : ids)
      sum += i == origin ? 0 : values.word(i, 0, 8);
    CHECK(sum == 1'000 * 1'001 / 2); // none has been written over
  }

  TEST_CASE("a number that was released is given again, and the others keep their values") {
    line_values values;
    line const kept = counting_from(3), other = counting_from(100);
    auto const a = values.add(kept.data());
    auto const b = values.add(kept.data());
    values.release(b);
    auto const c = values.add(other.data());
    CHECK(c == b);
    CHECK(value_of(values, c) == other);
    CHECK(value_of(values, a) == kept);
    CHECK(values.copy(c) != a);
  }

  TEST_CASE("lines that come and go need no more numbers than there are at a time") {
    line_values values;
    line const any = counting_from(0);
    for (int i = 0; i < 10'000; ++i) {
      auto const a = values.add(any.data());
      auto const b = values.copy(a);
      REQUIRE(a != b);
      REQUIRE(std::max(a, b) < 2);
      values.release(a);
      values.release(b);
    }
  }

  TEST_CASE("clear() forgets all numbers, those that were released, too, and keeps the memory") {
    line_values values;
    line const any = counting_from(7);
    auto const first = values.add(any.data());
    for (int i = 0; i < 500; ++i)
      static_cast<void>(values.add(any.data()));
    std::byte const* const memory = values.at(first);
    values.release(first);
    values.clear();
    std::set<line_values::id> ids;
    for (int i = 0; i < 501; ++i)
      CHECK(ids.insert(values.add(any.data())).second);
    CHECK(*ids.rbegin() == 500);
    CHECK(values.at(first) == memory);
  }
}

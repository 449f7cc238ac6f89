// SPDX-License-Identifier: Apache-2.0
#include "memory_map.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>

using namespace quarry::emu;

namespace {

/// Two rows of eight bytes beside each other.
struct two_rows {
  alignas(64) std::array<std::byte, 16> bytes{};
  allocations known;
  memory_map map;

  two_rows() {
    known.add(&bytes[0], 8, "row");
    known.add(&bytes[8], 8, "row");
    map.add(known);
  }
  [[nodiscard]] std::uintptr_t at(std::size_t i) const {
    return reinterpret_cast<std::uintptr_t>(bytes.data()) + i;
  }
  /// As an explored execution is told of it.
  known_range give_back(std::size_t first) {
    known_range const gone = *map.find(at(first));
    map.forget_accessed();
    known.remove(&bytes[first]);
    return gone;
  }
};

} // namespace

TEST_SUITE("emu.memory_map") {
  TEST_CASE("bytes are allowed within one allocation; without shared memory, anywhere") {
    two_rows m;
    allocations shared;
    CHECK(m.map.allows(m.at(100), 8));
    m.map.share(&shared);
    CHECK(m.map.shared() == &shared);
    CHECK(m.map.allows(m.at(0), 8));
    CHECK_FALSE(m.map.allows(m.at(4), 8)); // of two
    CHECK_FALSE(m.map.allows(m.at(16), 1));
    m.map.clear();
    CHECK_FALSE(m.map.allows(m.at(0), 8));
  }

  TEST_CASE("what was allowed is known without a search, until something goes away") {
    two_rows m;
    allocations shared;
    m.map.share(&shared);
    CHECK_FALSE(m.map.was_accessed(m.at(0), 4));
    CHECK(m.map.allows(m.at(0), 4));
    CHECK(m.map.was_accessed(m.at(4), 4));
    CHECK_FALSE(m.map.was_accessed(m.at(4), 8));
    CHECK_FALSE(m.map.was_accessed(m.at(8), 4));
    CHECK(m.map.allows(m.at(8), 4));
    static_cast<void>(m.give_back(0));
    CHECK_FALSE(m.map.was_accessed(m.at(0), 4));
    CHECK_FALSE(m.map.was_accessed(m.at(8), 4));
    CHECK(m.map.allows(m.at(8), 4));
    m.map.remove(m.known);
    CHECK_FALSE(m.map.was_accessed(m.at(8), 4));
    CHECK_FALSE(m.map.allows(m.at(8), 4));
  }

  TEST_CASE("an allocation that is gone is found, until something else lies there") {
    two_rows m;
    CHECK(m.map.find_gone(m.at(0)) == nullptr);
    m.map.has_gone(m.give_back(0));
    CHECK(m.map.find(m.at(0)) == nullptr);
    REQUIRE(m.map.find_gone(m.at(7)) != nullptr);
    CHECK(m.map.find_gone(m.at(7))->begin == m.at(0));
    CHECK(m.map.find_gone(m.at(8)) == nullptr);
    CHECK(m.map.offset_of(m.at(2)) == "'row' + 2");
    m.known.add(&m.bytes[4], 4, "new");
    CHECK(m.map.find_gone(m.at(0)) == nullptr);
    m.map.clear();
    CHECK(m.map.find_near(m.at(4)) == nullptr);
  }

  TEST_CASE("of several of one name each has a number, from all that is known") {
    two_rows m;
    alignas(64) std::array<std::byte, 8> more{};
    allocations others;
    others.add(more.data(), more.size(), "row");
    m.map.add(others);
    m.map.add(others); // once is enough
    CHECK(m.map.title_of(*m.map.find(m.at(0))) == "row #1");
    CHECK(m.map.title_of(*m.map.find(m.at(8))) == "row #2");
    CHECK(m.map.title_of(*m.map.find(reinterpret_cast<std::uintptr_t>(more.data()))) == "row #3");
    m.map.remove(others);
    CHECK(m.map.offset_of(m.at(9)) == "'row #2' + 1");
  }
}

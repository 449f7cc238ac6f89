// SPDX-License-Identifier: Apache-2.0
#include "agents.hpp"

#include <quarry/emu/core.hpp>
#include <quarry/emu/index_lines.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

TEST_SUITE("emu.index_lines") {
  TEST_CASE_TEMPLATE("each index begins a cache line of its own, whatever its type", T,
                     std::uint8_t, std::uint32_t, std::uint64_t) {
    allocations known;
    index_lines<T> indices(known, 5, "indices");
    CHECK(indices.size() == 5);
    CHECK(indices.bytes() == 5 * 64);
    auto const first = reinterpret_cast<std::uintptr_t>(indices[0].get());
    CHECK(first % 64 == 0);
    for (std::size_t i = 0; i < 5; ++i)
      CHECK(reinterpret_cast<std::uintptr_t>(indices[i].get()) == first + 64 * i);
  }

  TEST_CASE("all begin with the value that is asked for, or 0") {
    allocations known;
    index_lines<std::uint64_t> const zeros(known, 3, "zeros");
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    index_lines<std::uint64_t> const others(known, 3, "others", most);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(zeros.peek(i) == 0);
      CHECK(others.peek(i) == most);
    }
  }

  TEST_CASE("peek() sees what an actor has written to that index, and to no other") {
    allocations known;
    index_lines<std::uint64_t> indices(known, 3, "indices", 7);
    basic_core<native_memory> const self({});
    self.store(indices[1], 40, order::release, scope::system);
    CHECK(self.fetch_add(indices[1], 2, order::relaxed, scope::system) == 40);
    CHECK(indices.peek(0) == 7);
    CHECK(indices.peek(1) == 42);
    CHECK(indices.peek(2) == 7);
  }

  TEST_CASE("reports know them by name, as long as they live") {
    allocations known;
    global<std::uint32_t> last;
    {
      index_lines<std::uint32_t> indices(known, 2, "ring indices");
      last = indices[1];
      CHECK(known.contain(last.get(), sizeof(std::uint32_t)));
      CHECK(known.locate(last.get()) == "ring indices, byte 64");
    }
    CHECK_FALSE(known.contain(last.get(), sizeof(std::uint32_t)));
  }

  TEST_CASE("a bounds check has something to say about the index after the last") {
    allocations known;
    index_lines<std::uint64_t> indices(known, 2, "pair");
    basic_core<checked_memory> const self({nullptr, nullptr, &known});
    CHECK(self.load(indices[1]) == 0);
    CHECK_THROWS_AS(static_cast<void>(self.load(indices[2])), kernel_stop);
  }
}

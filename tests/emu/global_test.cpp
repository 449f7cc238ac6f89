// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/affine.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/lanes.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <cstdint>
#include <type_traits>

using namespace quarry::emu;

namespace {

template<class A>
concept writable = requires(A a) { *a.get() = 1; };

} // namespace

TEST_SUITE("emu.global") {
  TEST_CASE("an address moves by whole elements, with integers of any type") {
    std::uint64_t words[8] = {};
    global<std::uint64_t> const at(words + 2);
    CHECK((at + 3).get() == words + 5);
    CHECK((at - 2).get() == words);
    CHECK((at + std::uint8_t{4}).get() == words + 6);
    CHECK((at + std::int64_t{-1}).get() == words + 1);
    CHECK((at + 3 - 3) == at);
    CHECK((at + 1) != at);
  }

  TEST_CASE("an address is null until it is given one") {
    int word = 0;
    CHECK_FALSE(global<int>());
    CHECK(global<int>() == global<int>(nullptr));
    CHECK(global<int>(&word));
  }

  TEST_CASE("a writable address becomes a read-only one, not the other way round, nor a pointer") {
    int word = 7;
    global<int> const at(&word);
    global<int const> const read = at;
    CHECK(read.get() == &word);
    CHECK(writable<global<int>>);
    CHECK_FALSE(writable<global<int const>>);
    CHECK_FALSE(std::convertible_to<global<int const>, global<int>>);
    CHECK_FALSE(std::convertible_to<global<int>, int*>);
    CHECK_FALSE(std::convertible_to<int*, global<int>>);
    CHECK_FALSE(std::convertible_to<global<int>, global<long>>);
    CHECK(std::same_as<global<int const>::value_type, int>);
    CHECK(std::is_trivially_copyable_v<global<int>>);
    CHECK(sizeof(global<int>) == sizeof(int*));
  }

  TEST_CASE("a per-lane index makes a lane_address with that very index") {
    int words[64] = {};
    global<int> const at(words);
    auto const consecutive = at + linear_index<std::int32_t, 64>(5);
    CHECK(std::same_as<decltype(consecutive),
                       lane_address<int, linear_index<std::int32_t, 64>> const>);
    CHECK(consecutive.base == words);
    CHECK(consecutive.index.to_lanes()[3] == 8);
    lanes<std::int32_t, 32> anywhere(9);
    anywhere.set(1, 2);
    auto const gathered = at + anywhere;
    CHECK(std::same_as<decltype(gathered), lane_address<int, lanes<std::int32_t, 32>> const>);
    CHECK(gathered.index[0] == 9);
    CHECK(gathered.index[1] == 2);
  }

  TEST_CASE("a view of LDS is row-major, by integers an element and by lanes many") {
    int cells[4 * 6] = {};
    lds_view<int, 4, 6> const tile(cells);
    CHECK(tile.size() == 24);
    CHECK(tile.get() == cells);
    for (int r = 0; r < 4; ++r)
      for (int c = 0; c < 6; ++c) {
        CHECK(tile(r, c).get() == &cells[6 * r + c]);
        CHECK((tile + (6 * r + c)).get() == &cells[6 * r + c]);
      }
    auto const row = tile(2, lanes<std::int32_t, 32>(3));
    CHECK(row.base + row.index[31] == &cells[15]);
    auto const both = tile(lanes<std::int32_t, 32>(1), lanes<std::int32_t, 32>(4));
    CHECK(both.base + both.index[7] == &cells[10]);
    CHECK(lds_view<char, 100>::size() == 100);
  }
}

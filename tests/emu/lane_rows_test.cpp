// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/lane_rows.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <source_location>
#include <utility>
#include <vector>

using namespace quarry::emu;

namespace {

static_assert(single_row_index<linear_index<std::int32_t, 64>>);
static_assert(single_row_index<linear_index<std::int64_t, 32>>);
static_assert(row_index<tile_row<std::int32_t, 16, 64>>);
static_assert(!single_row_index<tile_row<std::int32_t, 16, 64>>);
static_assert(!row_index<uniform_index<std::int32_t, 64>>);
static_assert(!row_index<affine<std::int32_t, 64, 2, 64>>);

std::array<std::uint32_t, 512> elements{};

/// An address in the middle, so that indices may be negative.
template<class Index>
lane_address<std::uint32_t, Index> at(Index i) {
  return {elements.data() + 128, i};
}

/// The rows of an access: where each lane's element is, by the rows; null: no row has the lane.
struct seen_rows {
  bool is_done = false;
  unsigned count = 0;
  std::vector<std::uint32_t const*> lanes = std::vector<std::uint32_t const*>(64);
};

template<class Index>
seen_rows rows_of(Index i, lane_mask active) {
  seen_rows seen;
  auto const where = std::source_location::current();
  seen.is_done = for_each_row(at(i), active, where, [&](cache_port::lane_row const& r) {
    ++seen.count;
    CHECK(r.element == sizeof(std::uint32_t));
    CHECK(r.where.line() == where.line());
    for (unsigned n = 0; n < r.count; ++n) {
      auto& lane = seen.lanes.at(static_cast<unsigned>(r.first_lane) + n);
      CHECK(lane == nullptr); // in one row only
      lane = static_cast<std::uint32_t const*>(r.at) + n;
    }
  });
  return seen;
}

/// It is done in rows: every active lane where its index says, and no other.
template<class Index>
void in_rows(Index i, lane_mask active, unsigned count) {
  CAPTURE(active.bits());
  seen_rows const seen = rows_of(i, active);
  CHECK(seen.is_done);
  CHECK(seen.count == count);
  for (int lane = 0; lane < 64; ++lane) {
    CAPTURE(lane);
    CHECK(seen.lanes.at(static_cast<unsigned>(lane)) ==
          (lane < Index::size && active.test(lane) ? at(i).base + i[lane] : nullptr));
  }
}

template<class Index>
void not_in_rows(Index i, lane_mask active) {
  CAPTURE(active.bits());
  seen_rows const seen = rows_of(i, active);
  CHECK_FALSE(seen.is_done);
  CHECK(seen.count == 0);
}

/// The ends are those of a walk over all active lanes.
template<class Index>
void check_ends(Index i) {
  std::mt19937_64 random(7);
  std::vector<lane_mask> masks{lane_mask::all(Index::size), lane_mask::only(0),
                               lane_mask::only(Index::size - 1), lane_mask::first_n(5)};
  for (int n = 0; n < 20; ++n)
    masks.push_back(lane_mask(random() & random()) & lane_mask::all(Index::size));
  for (lane_mask const active : masks) {
    if (active.empty())
      continue;
    CAPTURE(active.bits());
    std::uint32_t *lowest = nullptr, *highest = nullptr;
    active.for_each([&](int lane) {
      std::uint32_t* const one = at(i).base + i[lane];
      lowest = lowest == nullptr ? one : std::min(lowest, one);
      highest = std::max(highest, one);
    });
    CHECK(ends_of(at(i), active) == std::pair(lowest, highest));
  }
}

} // namespace

TEST_SUITE("emu.lane_rows") {
  TEST_CASE("consecutive lanes are one row, of the first so many that are active") {
    linear_index<std::int32_t, 64> const wide(-3);
    linear_index<std::int64_t, 32> const narrow(9);
    for (int const n : {1, 2, 31, 63, 64})
      in_rows(wide, lane_mask::first_n(n), 1);
    in_rows(narrow, lane_mask::all(32), 1);
    in_rows(narrow, lane_mask::only(0), 1);
  }

  TEST_CASE("a gap among the lanes of a row, or before them, is no row") {
    linear_index<std::int32_t, 64> const i(0);
    not_in_rows(i, lane_mask::only(1));
    not_in_rows(i, lane_mask(0b1011));
    not_in_rows(i, lane_mask(~std::uint64_t{1}));
    not_in_rows(i, lane_mask(0x8000'0000'0000'0001));
  }

  TEST_CASE("a tile is a row each, where all lanes are active, and only then") {
    in_rows(tile_row<std::int32_t, 16, 64>(2, 40), lane_mask::all(64), 4);
    in_rows(tile_row<std::int64_t, 8, 32>(0, -20), lane_mask::all(32), 4);
    in_rows(tile_row<std::int32_t, 1, 64>(5, 3), lane_mask::all(64), 64);
    in_rows(tile_row<std::int32_t, 32, 64>(5, 32), lane_mask::all(64), 2);
    tile_row<std::int32_t, 16, 64> const i(0, 40);
    not_in_rows(i, lane_mask::first_n(63));
    not_in_rows(i, lane_mask::first_n(16));
    not_in_rows(i, lane_mask::none());
  }

  TEST_CASE("lanes that are not consecutive by their type are no rows") {
    not_in_rows(uniform_index<std::int32_t, 64>(4), lane_mask::all(64));
    not_in_rows(row_broadcast<std::int32_t, 16, 64>(1, 3), lane_mask::all(64));
    not_in_rows(affine<std::int32_t, 64, 2, 64>(0), lane_mask::all(64));
  }

  TEST_CASE("the ends of an access are the lowest and the highest element of the active lanes") {
    check_ends(linear_index<std::int32_t, 64>(-100));
    check_ends(linear_index<std::int64_t, 32>(3));
    check_ends(tile_row<std::int32_t, 8, 64>(0, -5)); // later rows lie lower
    check_ends(affine<std::int32_t, 32, -3, 32>(0));
    check_ends(uniform_index<std::int32_t, 64>(17));
    lanes<std::int32_t, 64> scattered;
    for (int lane = 0; lane < 64; ++lane)
      scattered.set(lane, lane * 37 % 101 - 50);
    check_ends(scattered);
  }
}

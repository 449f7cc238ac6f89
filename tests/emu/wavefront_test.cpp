// SPDX-License-Identifier: Apache-2.0
// Who a wavefront's lanes are, which of them act, and its single operations; collectives, where()
// and LDS have suites of their own.
#include "agents.hpp"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

template<class W>
constexpr int size_of = std::remove_reference_t<W>::size;

/// Per work-item: its numbers, packed.
struct linear_ids {
  void operator()(any_wavefront auto& wf, global<std::int64_t> out) const {
    auto const g = convert<std::int64_t>(wf.global_id(0));
    auto const l = convert<std::int64_t>(wf.local_id().to_lanes());
    auto const wave = static_cast<std::int64_t>(wf.index_in_group() * 10 + wf.waves_in_group());
    auto const group = static_cast<std::int64_t>(wf.linear_group_id());
    wf.store(out + wf.global_id(), ((g * 1000 + l) * 1000 + wave) * 10 + group);
  }
};

/// Far beyond the end, at places of all kinds, and of nothing.
struct prefetches {
  void operator()(any_wavefront auto& wf, global<int> out) const {
    auto const i = wf.global_id();
    wf.prefetch(out + (i + 1'000'000'000));
    wf.prefetch(out + wf.global_id(0) * 17);
    wf.prefetch(out + 3);
    wf.prefetch(global<int>());
    if (auto const odd = wf.where(wf.global_id(0) % 2 == 1))
      wf.prefetch(out + i);
    wf.store(out + i, wf.global_id(0));
  }
};

/// Counts each position of a three-dimensional grid, and what its work-item knows of itself.
struct positions {
  void operator()(any_wavefront auto& wf, global<int> count, global<int> wrong) const {
    extent const id = wf.group_id();
    extent const size = wf.group_size();
    auto const x = wf.global_id(0), y = wf.global_id(1), z = wf.global_id(2);
    wf.add(count + (x + y * 10 + z * 60), 1, order::relaxed, scope::agent);
    bool const fits = size == extent{id.x == 2 ? 2U : 4U, id.y == 1 ? 2U : 4U, 2} &&
                      wf.group_count() == extent{3, 2, 2} &&
                      wf.linear_group_id() == id.x + 3 * (id.y + 2 * id.z) &&
                      wf.all(x == wf.local_id(0) + static_cast<int>(4 * id.x)) &&
                      wf.all(y == wf.local_id(1) + static_cast<int>(4 * id.y)) &&
                      wf.all(z == wf.local_id(2) + static_cast<int>(2 * id.z)) &&
                      wf.all(wf.local_id(0) < static_cast<int>(size.x)) &&
                      wf.all(wf.local_id(1) < static_cast<int>(size.y));
    if (!fits)
      wf.fetch_add(wrong, 1, order::relaxed, scope::agent);
  }
};

/// Rows and columns of a tile, 16 work-items wide.
struct tile_places {
  void operator()(any_wavefront auto& wf, global<int> out) const {
    auto const t = wf.template tile<16>();
    auto const row = t.row.to_lanes(), column = t.column.to_lanes();
    wf.store(out + (row * 16 + column), row * 100 + column);
  }
};
struct one_dimension {
  void operator()(any_wavefront auto& wf) const { static_cast<void>(wf.global_id()); }
};

/// Each wavefront's masks, votes and leader, of all its lanes and of every third.
struct votes {
  void operator()(any_wavefront auto& wf, global<std::uint64_t> out) const {
    auto const mine = out + 8 * wf.index_in_group();
    auto const lane = wf.local_id(0) % size_of<decltype(wf)>;
    wf.store(mine, wf.items().bits());
    if (auto some = wf.where(lane % 3 == 1)) {
      wf.store(mine + 1, wf.active().bits());
      wf.store(mine + 2, wf.ballot(lane < 10).bits());
      wf.store(mine + 3, static_cast<std::uint64_t>(wf.elect_leader()));
      int const answers = (wf.any(lane == 4) ? 1 : 0) + (wf.any(lane == 5) ? 2 : 0) +
                          (wf.all(lane % 3 == 1) ? 4 : 0) + (wf.all(lane != 4) ? 8 : 0);
      wf.store(mine + 4, static_cast<std::uint64_t>(answers));
      wf.store(mine + 5, wf.items().bits());
    }
    wf.store(mine + 6, wf.active().bits());
  }
};

/// Each wavefront packs its odd work-items' numbers into its part of `out`.
struct packs {
  void operator()(any_wavefront auto& wf, global<int> out) const {
    auto const i = wf.local_id(0);
    auto const part = out + wf.index_in_group() * size_of<decltype(wf)>;
    if (auto none = wf.where(i < 0); true)
      wf.store_packed(part, i + 1000);
    if (auto odd = wf.where(i % 2 == 1))
      wf.store_packed(part, i);
    if (wf.index_in_group() == 0)
      wf.store_packed(out + 256, i + 7); // all of a full wavefront
  }
};

/// Loads and stores of the active lanes only; a load gives nothing for the others that counts.
struct moves_evens {
  void operator()(any_wavefront auto& wf, global<int const> in, global<int> out) const {
    auto const i = wf.local_id(0);
    auto even = wf.where(i % 2 == 0);
    auto const values = wf.load(in + i);
    wf.store(out + wf.local_id(), values);
    wf.store(out + (i + 1), values * 2);
  }
};

} // namespace

TEST_SUITE("emu.wavefront") {
  TEST_CASE("lanes know their work-items, the wavefront its place, at the grid's end too") {
    with_every_agent([](agent& gpu) {
      std::int64_t const wave = gpu.core().shape().wavefront_size;
      auto out = gpu.allocate<std::int64_t>(300, "out");
      succeed(
          gpu.run({.work_items = 250, .work_items_per_group = 100}, linear_ids{}, out.global()));
      for (std::int64_t i = 0; i < 300; ++i) {
        std::int64_t const local = i % 100;
        std::int64_t const items = i < 200 ? 100 : 50;
        std::int64_t const place = local / wave * 10 + (items + wave - 1) / wave;
        REQUIRE(out.host()[static_cast<std::size_t>(i)] ==
                (i < 250 ? ((i * 1000 + local) * 1000 + place) * 10 + i / 100 : 0));
      }
    });
  }

  TEST_CASE("in three dimensions every position has one work-item, which knows where it is") {
    with_every_agent([](agent& gpu) {
      auto count = gpu.allocate<int>(10 * 6 * 4, "count");
      auto wrong = gpu.allocate<int>(1, "wrong");
      succeed(gpu.run({.work_items = {10, 6, 4}, .work_items_per_group = {4, 4, 2}}, positions{},
                      count.global(), wrong.global()));
      CHECK(wrong.host()[0] == 0);
      for (int const n : count.host())
        REQUIRE(n == 1);
    });
  }

  TEST_CASE("a tile's rows and columns are those of the group that is as wide") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<int>(256, "out");
      succeed(gpu.run({.work_groups = 1, .work_items_per_group = {16, 16}}, tile_places{},
                      out.global()));
      for (int i = 0; i < 256; ++i)
        REQUIRE(out.host()[static_cast<std::size_t>(i)] == i / 16 * 100 + i % 16);
    });
  }

  TEST_CASE("a view that the launch does not have is a fault that says what it has") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<int>(256, "out");
      auto const narrow = fail_with(
          gpu.run({.work_groups = 1, .work_items_per_group = {8, 16}}, tile_places{}, out.global()),
          fault::kind::wrong_shape);
      CHECK_SAYS(narrow, "tile<W>() of a group that is not W work-items wide");
      CHECK_SAYS(narrow, "this one 8 x 16 x 1 work-items");
      CHECK_SAYS(narrow, "wavefront_test.cpp:");
      for (launch_config const& deep :
           {launch_config{.work_groups = {2, 2}, .work_items_per_group = 64},
            launch_config{.work_groups = {2, 1, 2}, .work_items_per_group = 64},
            launch_config{.work_groups = 4, .work_items_per_group = {8, 8}}}) {
        auto const report = fail_with(gpu.run(deep, one_dimension{}), fault::kind::wrong_shape);
        CHECK_SAYS(report, "global_id() of a grid with several dimensions");
      }
    });
  }

  TEST_CASE("masks, votes and the leader are of the active lanes; all items come back afterwards") {
    with_every_agent([](agent& gpu) {
      unsigned const size = gpu.core().shape().wavefront_size;
      auto out = gpu.allocate<std::uint64_t>(8 * 4, "out");
      succeed(gpu.run({.work_groups = 1, .work_items_per_group = 100}, votes{}, out.global()));
      for (unsigned w = 0; w * size < 100; ++w) {
        unsigned const lanes = std::min(size, 100 - w * size);
        std::uint64_t all = 0, third = 0;
        for (unsigned l = 0; l < lanes; ++l) {
          all |= std::uint64_t{1} << l;
          third |= std::uint64_t{l % 3 == 1} << l;
        }
        std::uint64_t const* const got = &out.host()[8 * w];
        CHECK(got[0] == all);
        CHECK(got[1] == third);
        CHECK(got[2] == (third & 0x3ff));
        CHECK(got[3] == 63U - static_cast<unsigned>(std::countl_zero(third)));
        // any(4) if there is a lane 4, never 5; all(% 3 == 1); all(!= 4) if there is none.
        CHECK(got[4] == (lanes > 4 ? 1U + 4U : 4U + 8U));
        CHECK(got[5] == all);
        CHECK(got[6] == all);
      }
    });
  }

  TEST_CASE("packed values stand without gaps, in the order of their lanes; none write nothing") {
    with_every_agent([](agent& gpu) {
      unsigned const size = gpu.core().shape().wavefront_size;
      auto out = gpu.allocate<int>(400, "out");
      std::ranges::fill(out.host(), -1);
      succeed(gpu.run({.work_groups = 1, .work_items_per_group = 100}, packs{}, out.global()));
      std::vector<int> expected(400, -1);
      for (unsigned w = 0; w * size < 100; ++w)
        for (unsigned i = w * size + 1, at = w * size; i < std::min(100U, (w + 1) * size); i += 2)
          expected[at++] = static_cast<int>(i);
      std::iota(expected.begin() + 256, expected.begin() + 256 + size, 7);
      CHECK(std::vector(out.host().begin(), out.host().end()) == expected);
    });
  }

  TEST_CASE("loads and stores touch the active lanes' elements alone") {
    with_every_agent([](agent& gpu) {
      auto in = gpu.allocate<int>(99, "in"); // the last odd lane would be outside
      auto out = gpu.allocate<int>(100, "out");
      std::iota(in.host().begin(), in.host().end(), 1);
      succeed(gpu.run({.work_groups = 1, .work_items_per_group = 100}, moves_evens{},
                      global<int const>(in.global()), out.global()));
      for (int i = 0; i < 100; ++i)
        REQUIRE(out.host()[static_cast<std::size_t>(i)] == (i % 2 == 0 ? i + 1 : 2 * i));
    });
  }

  TEST_CASE("a prefetch of any address is a hint, and nothing else") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<int>(100, "out");
      succeed(gpu.run({.work_items = 100}, prefetches{}, out.global()));
      for (int i = 0; i < 100; ++i)
        REQUIRE(out.host()[static_cast<std::size_t>(i)] == i);
    });
  }

  TEST_CASE("a wave kernel's parameter is a wavefront of 32 or 64 lanes, and nothing else") {
    CHECK(any_wavefront<basic_wavefront<native_memory, 32>>);
    CHECK(any_wavefront<basic_wavefront<checked_memory, 64>>);
    CHECK_FALSE(any_wavefront<basic_work_item<native_memory>>);
    CHECK_FALSE(any_wavefront<basic_plain_work_item<native_memory>>);
    CHECK_FALSE(any_wavefront<int>);
    CHECK_FALSE(std::copyable<wavefront>);
    CHECK(wavefront::size == 64);
  }

  TEST_CASE("a wavefront stores indices as values of any arithmetic type") {
    with_every_agent([](agent& gpu) {
      auto ids = gpu.allocate<std::uint64_t>(100, "ids");
      auto places = gpu.allocate<float>(100, "places");
      auto const end = gpu.run(
          {.work_items = 100, .work_items_per_group = 70},
          [](any_wavefront auto& wf, global<std::uint64_t> i, global<float> p) {
            wf.store(i + wf.global_id(), wf.global_id());
            wf.store(p + wf.global_id(), wf.local_id());
          },
          ids.global(), places.global());
      REQUIRE(end);
      for (std::uint32_t i = 0; i < 100; ++i) {
        CHECK(ids.host()[i] == i);
        CHECK(places.host()[i] == static_cast<float>(i % 70));
      }
    });
  }
}

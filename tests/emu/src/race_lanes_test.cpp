// SPDX-License-Identifier: Apache-2.0
// Lanes of one actor: which of them are ordered, in a vector instruction and in an item kernel.
#include "hrf_comparison.hpp"
#include "race_accesses.hpp"

#include <doctest/doctest.h>

#include <cstdint>

namespace {

using namespace quarry::emu;
using detector = race_detector;
using namespace quarry::emu::hrf; // NOLINT: actors
using why = detector::missing_edge;

constexpr std::uintptr_t x = 0x1000, y = 0x1040, flag = 0x1080;

} // namespace

TEST_SUITE("emu.race_lanes") {
  TEST_CASE("lanes of one instruction are ordered with other instructions only") {
    detector d = make_detector();
    detector::write_id id = 0;
    auto const lane_store = [&](std::int16_t lane, std::uintptr_t at) {
      return d.store(plain(a, at, 4, lane), id);
    };
    auto const lane_load = [&](std::int16_t lane, std::uintptr_t at, unsigned bytes = 4) {
      return d.load(plain(a, at, bytes, lane), 0);
    };
    d.begin_instruction(a);
    CHECK(!lane_store(0, x));
    CHECK(!lane_store(1, x + 4));
    CHECK(!lane_store(0, x)); // the same lane again
    auto const race = lane_store(2, x + 2);
    REQUIRE(race);
    CHECK(race->missing == why::same_instruction);
    d.begin_instruction(a);
    for (std::int16_t lane = 0; lane < 64; ++lane)
      CHECK(!lane_load(lane, x)); // a broadcast
    CHECK(lane_store(0, x));      // who was first in the broadcast
    CHECK(lane_store(63, x));
    d.begin_instruction(a);
    CHECK(!lane_load(0, x, 2));
    CHECK(!lane_load(1, x, 4));
    CHECK(!lane_store(1, x + 2));
    CHECK(lane_store(1, x));
    CHECK(lane_load(0, x + 2));
    d.begin_instruction(a);
    CHECK(!lane_load(0, x, 2));
    CHECK(!lane_load(1, x));
    CHECK(lane_store(0, x + 2));
    d.begin_instruction(a);
    for (std::int16_t lane = 0; lane < 4; ++lane)
      CHECK(!d.update(atomic(a, y, 4, order::relaxed, scope::wavefront, lane), 0, true, id));
    CHECK(lane_load(4, y)->missing == why::same_instruction);
    d.begin_instruction(a);
    CHECK(!d.load(atomic(a, y, 4, order::relaxed, scope::wavefront, 0), 0));
    CHECK(!d.update(atomic(a, y, 4, order::relaxed, scope::wavefront, 1), 0, true, id));
    CHECK(lane_load(0, y));
    d.begin_instruction(a);
    d.update(atomic(a, y, 4, order::relaxed, scope::work_item, 0), 0, true, id);
    CHECK(d.update(atomic(a, y, 4, order::relaxed, scope::wavefront, 1), 0, true, id)->missing ==
          why::exclusive_scopes);
    d.begin_instruction(a);
    CHECK(!lane_store(0, x));
    CHECK(!d.load(plain(a, x, 4), 0)); // an instruction of its own
    CHECK(!lane_store(1, x));
    d.reset();
    CHECK(!lane_store(0, x));
    CHECK(!lane_store(1, x)); // without begin_instruction() they are in program order
  }

  TEST_CASE("lanes that have met are ordered among each other, and with no other one") {
    detector d = make_detector();
    detector::write_id id = 0;
    auto const lane_store = [&](std::int16_t lane, std::uintptr_t at) {
      return d.store(plain(a, at, 4, lane), id);
    };
    auto const meet_lanes = [&](unsigned one, unsigned other) {
      d.lanes_meet(a, std::uint64_t{1} << one | std::uint64_t{1} << other);
    };
    d.begin_instruction(a);
    CHECK(!lane_store(20, x));
    CHECK(!lane_store(63, y));
    meet_lanes(0, 63);
    CHECK(!lane_store(0, y));
    CHECK(lane_store(0, x)->missing == why::same_instruction);
    d.reset();
    d.begin_instruction(a);
    CHECK(!lane_store(20, x));
    meet_lanes(20, 5);
    meet_lanes(5, 0);
    CHECK(!lane_store(0, x)); // by way of 5
    d.reset();
    d.begin_instruction(a);
    meet_lanes(0, 20);
    CHECK(!lane_store(20, x));
    CHECK(lane_store(0, x)); // since then
    d.begin_instruction(a);
    CHECK(!lane_store(1, x));
  }

  TEST_CASE("what another lane of the same instruction acquires would not do") {
    detector d = make_detector();
    auto const race_of_lane_3 = [&](bool in_another_instruction, bool has_loaded = false) {
      detector::write_id of_a = 0, of_b = 0;
      d.reset();
      d.load(plain(a, x, 4), 0);
      d.update(atomic(a, flag, 8, order::relaxed, scope::agent), 0, true, of_a);
      d.begin_instruction(other_group);
      d.load(atomic(other_group, flag + 4, 4, order::relaxed, scope::agent, 0), of_a);
      if (has_loaded)
        d.load(atomic(other_group, flag + 4, 4, order::relaxed, scope::agent, 3), of_a);
      if (in_another_instruction)
        d.begin_instruction(other_group);
      return d.store(plain(other_group, x, 4, 3), of_b);
    };
    auto const same = race_of_lane_3(false);
    REQUIRE(same);
    CHECK(same->missing == why::no_synchronisation);
    for (auto const& race : {race_of_lane_3(true), race_of_lane_3(false, true)}) {
      REQUIRE(race);
      REQUIRE(race->changes.size() == 2);
      CHECK(race->changes[1].why == why::no_acquire);
      CHECK(race->changes[1].what.address == flag + 4); // the load's, and not what was stored
      CHECK(race->changes[1].what.bytes == 4);
    }
  }

  TEST_CASE("what is done for lanes that wait orders those that meet in it") {
    detector d = make_detector();
    detector::write_id id = 0;
    auto const lane_store = [&](std::int16_t lane, std::uintptr_t at) {
      return d.store(plain(a, at, 4, lane), id);
    };
    d.begin_instruction(a);
    CHECK(!lane_store(20, x));
    d.lanes_wait(a);
    CHECK(!d.store(plain(a, y, 4), id)); // the actor's own
    d.begin_instruction(a);              // a vector operation of its
    CHECK(!lane_store(7, y));
    d.lanes_meet(a, 0xffff);
    CHECK(lane_store(0, x));
    CHECK(!lane_store(5, y));
    CHECK(lane_store(1, y)); // since they have met
  }
}

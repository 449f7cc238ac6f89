// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/channel_aggregator.hpp>

#include <doctest/doctest.h>

#include <array>
#include <optional>

using namespace quarry::emu;

TEST_SUITE("emu.channel_aggregator") {
  TEST_CASE("drain_last takes the last channel that fills a wavefront, and crumbs only when idle") {
    std::array<channel_state, 3> some{
        {{"a", 64, 0, 0, 64}, {"b", 200, 1, 0, 64}, {"c", 63, 0, 0, 64}}};
    CHECK(drain_last(some, false) == 1U);
    CHECK(drain_last(some, true) == 1U);
    some[1].ready = 1;
    CHECK(drain_last(some, false) == 0U);
    some[0].ready = 63;
    CHECK(drain_last(some, false) == std::nullopt);
    CHECK(drain_last(some, true) == 2U);
    some[0].waiting = 1;
    CHECK(drain_last(some, false) == 0U);
    CHECK(drain_last({}, true) == std::nullopt);
  }

  TEST_CASE("drain_in_bulk dispatches beside what runs only where somebody waits for room") {
    std::array<channel_state, 2> some{{{"a", 640, 0, 0, 64}, {"b", 3, 1, 0, 64}}};
    CHECK(drain_in_bulk(some, true) == 0U);
    CHECK(drain_in_bulk(some, false) == std::nullopt);
    some[1].waiting = 1;
    CHECK(drain_in_bulk(some, false) == 1U);
    some[1].ready = 0;
    CHECK(drain_in_bulk(some, false) == std::nullopt);
    some[0].ready = 1;
    CHECK(drain_in_bulk(some, true) == 0U);
    CHECK(drain_in_bulk({}, true) == std::nullopt);
  }
}

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
}

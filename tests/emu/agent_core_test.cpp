// SPDX-License-Identifier: Apache-2.0
// What becomes of a launch before it runs; refusals are in agent_test.cpp.
#include "agents.hpp"

#include <cstdint>
#include <string>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

constexpr machine shape{.compute_units = 3, .wavefront_slots = 10, .wavefront_size = 32};

/// A launch as agent_core completes it.
struct prepared : launch_state {
  prepared(agent_core const& core, launch_config const& c) {
    config = c;
    kernel = "none";
    core.prepare(*this);
  }
};

} // namespace

TEST_SUITE("emu.agent_core") {
  TEST_CASE("a grid in groups is one in work-items, all groups whole") {
    sequential_scheduler s;
    agent_core const core(s, shape, false);
    prepared const l(core, {.work_groups = {5, 3, 2}, .work_items_per_group = {8, 4, 2}});
    CHECK(l.groups == extent{5, 3, 2});
    CHECK(l.group_count == 30);
    CHECK(l.config.work_items == extent{40, 12, 4});
    CHECK(l.group_size({4, 2, 1}) == extent{8, 4, 2});
  }

  TEST_CASE("a grid in work-items has a smaller group where they do not fill it") {
    sequential_scheduler s;
    agent_core const core(s, shape, false);
    prepared const l(core, {.work_items = {41, 12, 1}, .work_items_per_group = {8, 5, 1}});
    CHECK(l.groups == extent{6, 3, 1});
    CHECK(l.group_count == 18);
    CHECK(l.group_size({5, 2, 0}) == extent{1, 2, 1});
    prepared const largest(core, {.work_items = ~0U, .work_items_per_group = 2});
    CHECK(largest.groups == extent{1U << 31});
  }

  TEST_CASE("wavefronts are of the machine's size, the last of a group may be partial") {
    sequential_scheduler s;
    agent_core const core(s, shape, false);
    for (auto const& [items, waves] : {std::pair{1U, 1U}, {32U, 1U}, {33U, 2U}, {320U, 10U}}) {
      prepared const l(core, {.work_groups = 1, .work_items_per_group = items});
      CHECK(l.wavefront_size == 32);
      CHECK(l.waves_per_group == waves);
    }
  }

  TEST_CASE("as many cooperative groups are accepted as slots and LDS have room for") {
    sequential_scheduler s;
    agent_core const core(s, shape, false);
    launch_config c{.work_items_per_group = 96, .cooperative = true}; // three of ten slots
    c.work_groups = 9;
    CHECK_NOTHROW(prepared(core, c));
    c.work_groups = 10;
    CHECK_THROWS_WITH(prepared(core, c),
                      "cooperative launch of none: 10 groups, but only 9 can be resident at once "
                      "(3 compute units, 3 groups each)");
    c.work_groups = 4;
    c.lds_bytes = 40 * 1024; // one group a unit
    CHECK_THROWS_WITH(prepared(core, c), doctest::Contains("only 3 can be resident"));
    c.work_groups = 3;
    CHECK_NOTHROW(prepared(core, c));
  }

  TEST_CASE("bounds are checked on request, and always where a scheduler decides") {
    native_scheduler native({.threads = 1});
    sequential_scheduler deciding;
    for (bool const wanted : {false, true}) {
      agent_core const one(native, shape, wanted);
      agent_core const other(deciding, shape, wanted);
      CHECK(one.checks_bounds() == wanted);
      CHECK(other.checks_bounds());
      CHECK((prepared(one, {.work_groups = 1}).bounds != nullptr) == wanted);
      CHECK(prepared(other, {.work_groups = 1}).bounds != nullptr);
    }
  }

  TEST_CASE("an agent tells its shape, and has a compute unit for each that was asked for") {
    sequential_scheduler s;
    agent_core const core(s, shape, false);
    CHECK(core.compute_unit_count() == 3);
    CHECK(core.shape().wavefront_slots == 10);
    CHECK(&core.scheduler() == &s);
  }
}

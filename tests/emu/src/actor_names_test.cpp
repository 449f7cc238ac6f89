// SPDX-License-Identifier: Apache-2.0
#include "actor_names.hpp"
#include "agents.hpp"

#include <quarry/emu/launch_state.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <source_location>

using namespace quarry::emu;

namespace {

/// Of so many groups of 64 work-items.
void describe(launch_state& l, char const* kernel, std::uint32_t number, std::uint64_t groups,
              std::source_location where) {
  l.kernel = kernel;
  l.debug.id = number;
  l.group_count = groups;
  l.config.work_items_per_group = 64;
  l.config.where = where;
}

} // namespace

TEST_SUITE("emu.actor_names") {
  TEST_CASE("hosts have their own name, and cores that of their agent, where there are several") {
    actor_names names;
    names.name_host(0, "producer");
    names.name_core(1, "core 0", 1);
    CHECK(names.name_of(0, 1) == "producer");
    CHECK(names.name_of(1, 1) == "core 0");
    CHECK(names.is_host(0));
    CHECK(!names.is_host(1));
    CHECK(!names.is_wave(1));
    CHECK(names.dispatch_of(0) == "");
    CHECK(names.name_of(0, 2) == "producer");
    CHECK(names.name_of(1, 2) == "core 0 of agent 1");
  }
  TEST_CASE("wavefronts are called as in a debugger, and told with their launch") {
    actor_names names;
    launch_state one, other;
    auto const here = std::source_location::current();
    describe(one, "produce", 1, 4, here);
    describe(other, "consume", 2, 1, {});
    auto const first = names.add_launch(one, 1), second = names.add_launch(other, 2);
    names.name_wave(0, first, {1, 2, 3}, 0, 5);
    names.name_wave(1, second, {0, 0, 0}, 1, 2);
    CHECK(names.is_wave(0));
    CHECK(!names.is_host(0));
    CHECK(names.name_of(0, 2) == "wave 1:1:1:5 (1,2,3)/0");
    CHECK(names.name_of(1, 2) == "wave 2:1:2:2 (0,0,0)/1");
    CHECK(names.kernel_of(0) == "produce");
    CHECK_SAYS(names.dispatch_of(0), "in dispatch 1 of agent 1: produce, 4 groups of 64, launched "
                                     "at actor_names_test.cpp:");
    CHECK(names.dispatch_of(1) == "in dispatch 2 of agent 2: consume, 1 group of 64");
  }
  TEST_CASE("of an execution that is over nothing is left") {
    actor_names names;
    launch_state l;
    describe(l, "produce", 1, 1, {});
    names.name_wave(0, names.add_launch(l, 1), {0, 0, 0}, 0, 1);
    names.clear();
    names.name_core(0, "core 0", 1);
    CHECK(names.name_of(0, 1) == "core 0");
    CHECK(!names.is_wave(0));
    describe(l, "consume", 1, 1, {});
    names.name_wave(1, names.add_launch(l, 1), {0, 0, 0}, 0, 1);
    CHECK(names.kernel_of(1) == "consume");
  }
}

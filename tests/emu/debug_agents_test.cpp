// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/agent.hpp>
#include <quarry/emu/debug_agents.hpp>
#include <quarry/emu/wavefront.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>

using namespace quarry;
using namespace quarry::emu;

namespace {

struct seen {
  std::string kernel;
  std::uint32_t dispatch = 0;
  std::uint64_t first_wave = 0;
  int groups = 0;
};

/// Looks at the last agent from within a kernel.
struct look {
  task<> operator()(any_wavefront auto& wf, std::reference_wrapper<seen> into) const {
    debug_agent const& a = *quarry_debug_agents.agents.last;
    if (wf.linear_group_id() == 0) {
      debug_dispatch const& d = *a.dispatches.last;
      into.get() = {d.kernel, d.id, d.first_wave, 0};
      for (debug_unit const* u = a.units.first; u != nullptr; u = u->next)
        for (debug_group const* g = u->groups.first; g != nullptr; g = g->next)
          into.get().groups += g->self->finished != g->self->all ? 1 : 0;
    }
    co_return;
  }
};

} // namespace

TEST_SUITE("emu.debug_agents") {
  TEST_CASE("agents are numbered, and leave the list") {
    debug_agent const* const before = quarry_debug_agents.agents.last;
    {
      sequential_scheduler scheduler;
      agent one(scheduler, {.compute_units = 2});
      agent two(scheduler);
      debug_agent const& second = *quarry_debug_agents.agents.last;
      CHECK(second.id == second.previous->id + 1);
      CHECK(second.previous->compute_units == 2);
      CHECK(second.scheduler == &scheduler.debug_entry());
    }
    CHECK(quarry_debug_agents.agents.last == before);
  }

  TEST_CASE(
      "a launch is listed while it runs, with its resident groups and its wavefronts' numbers") {
    sequential_scheduler scheduler;
    agent gpu(scheduler, {.compute_units = 1, .wavefront_slots = 4});
    debug_agent const& listed = *quarry_debug_agents.agents.last;
    seen first, second;
    gpu.run({.work_groups = 8, .work_items_per_group = 128}, look{}, std::ref(first)).or_throw();
    CHECK(listed.dispatches.first == nullptr);
    gpu.run({.work_groups = 1, .work_items_per_group = 64}, look{}, std::ref(second)).or_throw();
    CHECK(first.kernel == "look");
    CHECK(first.dispatch == 1);
    CHECK(first.groups == 2); // two wavefronts each, in four slots
    CHECK(second.dispatch == 2);
    CHECK(second.first_wave == 16);
    CHECK(second.groups == 1);
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "agents.hpp"
#include "test_agents.hpp"

#include <quarry/emu/agent.hpp>
#include <quarry/emu/wavefront.hpp>
#include <quarry/emu/wavefront_yield.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <functional>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

constexpr machine one_slot{.compute_units = 1, .wavefront_slots = 1, .wavefront_size = 64};
constexpr launch_config one_wavefront{.work_groups = 1, .work_items_per_group = 64};

struct left_behind {
  restart_context context{};
  std::atomic<bool> is_there{false};
};

struct gives_way {
  template<any_wavefront W>
  task<> operator()(W& wf, left_behind& to, global<std::uint32_t> steps, bool is_early) const {
    wave_slot& self = wf.slot();
    auto const before = wf.active();
    auto const some = wf.where(lane_mask::first_n(3));
    wf.store(steps, 1);
    to.context = {.wave = reinterpret_cast<std::uint64_t>(&self),
                  .ticket = static_cast<compute_unit*>(self.home)->begin_yield(self),
                  .bytes = 0,
                  .channel = 0,
                  .count = 0};
    if (is_early)
      to.context.restart();
    to.is_there.store(true, std::memory_order_release);
    co_await wavefront_yield(self);
    wf.store(steps, before.any() && wf.active().count() == 3 ? 2 : 99);
  }
};
struct passes_by {
  void operator()(any_wavefront auto& wf, global<std::uint32_t> steps) const {
    wf.store(steps + 1, 7);
  }
};

} // namespace

TEST_SUITE("emu.wavefront_yield") {
  TEST_CASE("whoever yields gives up its slot, and goes on where it was once it is restarted") {
    with_schedulers([](executor& s) {
      wide_agent gpu(s, one_slot);
      auto steps = gpu.allocate<std::uint32_t>(2);
      restart_context last{};
      for (int round = 0; round < 3; ++round) {
        left_behind left;
        completion waiting =
            gpu.launch(one_wavefront, gives_way{}, std::ref(left), steps.global(), false);
        REQUIRE(s.run_until([&] { return left.is_there.load(std::memory_order_acquire); }));
        if (round != 0)
          last.restart(); // its ticket is void: the slot has another wavefront now
        steps.host()[1] = 0;
        REQUIRE(gpu.run(one_wavefront, passes_by{}, steps.global())); // in the same slot
        CHECK(steps.host()[1] == 7);
        CHECK(!waiting.is_done());
        CHECK(steps.host()[0] == 1);
        left.context.restart();
        REQUIRE(waiting.wait());
        CHECK(steps.host()[0] == 2);
        last = left.context;
      }
    });
  }

  TEST_CASE("a restart that comes before the wavefront suspends is not lost") {
    with_schedulers([](executor& s) {
      wide_agent gpu(s, one_slot);
      auto steps = gpu.allocate<std::uint32_t>(2);
      left_behind left;
      REQUIRE(gpu.run(one_wavefront, gives_way{}, std::ref(left), steps.global(), true));
      CHECK(steps.host()[0] == 2);
    });
  }

  TEST_CASE(
      "a wavefront that nobody restarts is a reported deadlock, and its ticket is void then") {
    sequential_scheduler s;
    wide_agent gpu(s, one_slot);
    auto steps = gpu.allocate<std::uint32_t>(2);
    left_behind left;
    outcome const end = gpu.run(one_wavefront, gives_way{}, std::ref(left), steps.global(), false);
    REQUIRE(!end);
    CHECK(end.get_fault()->report.find("wavefront yield") != std::string::npos);
    left.context.restart();
    CHECK(gpu.run(one_wavefront, passes_by{}, steps.global()));
  }
}

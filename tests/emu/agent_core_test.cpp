// SPDX-License-Identifier: Apache-2.0
// What becomes of a launch before it runs; refusals are in agent_test.cpp and
// agent_misuse_test.cpp.
#include "agents.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

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

struct adds_one {
  void operator()(any_plain_work_item auto& wi, global<int> word) const {
    wi.fetch_add(word, 1, order::relaxed, scope::agent);
  }
};
/// One of two wavefronts waits for the other one, which ends, or for a word that nobody writes.
struct waits_in_vain {
  bool diverges;
  task<> operator()(any_wavefront auto& wf, global<int> word) const {
    if (wf.index_in_group() != 0)
      co_return;
    if (diverges)
      co_await wf.barrier();
    else
      co_await wf.wait_until(word, [](int v) { return v == 7; }, order::acquire, scope::agent);
  }
};
/// Keeps its compute unit without a suspension.
struct keeps_its_unit {
  void operator()(any_wavefront auto&, std::atomic<bool>& has_begun,
                  std::atomic<bool> const& is_over) const {
    has_begun = true;
    while (!is_over)
      std::this_thread::yield();
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

  TEST_CASE("groups that wait for units whose kernels come to no suspension: the stall says so") {
    native_scheduler s({.threads = 2, .stall_timeout = impatience});
    agent gpu(s, {.compute_units = 1});
    auto word = gpu.allocate<int>(1, "word");
    std::atomic<bool> has_begun = false, is_over = false;
    auto busy = gpu.launch({.work_groups = 1, .work_items_per_group = 64}, keeps_its_unit{},
                           std::ref(has_begun), std::cref(is_over));
    while (!has_begun)
      std::this_thread::yield();
    auto const report = fail_with(
        gpu.run({.work_groups = 1, .work_items_per_group = 64}, adds_one{}, word.global()),
        fault::kind::stall);
    is_over = true;
    CHECK(busy.wait());
    CHECK_SAYS(report, "stall: nothing progressed");
    CHECK_SAYS(report, "groups are not resident: they wait for compute units that are busy");
    CHECK_FALSE(contains(report, "all places are taken"));
  }

  TEST_CASE("a launch that waits for room has it when the one before it ends by a fault") {
    for (bool const diverges : {true, false}) {
      CAPTURE(diverges);
      sequential_scheduler s;
      agent gpu(s, {.compute_units = 1, .wavefront_slots = 2, .wavefront_size = 32});
      auto word = gpu.allocate<int>(1, "word");
      auto wrong = gpu.launch({.work_items = 64, .work_items_per_group = 64},
                              waits_in_vain{diverges}, word.global());
      auto right =
          gpu.launch({.work_items = 32, .work_items_per_group = 32}, adds_one{}, word.global());
      CHECK(!wrong.wait());
      outcome const o = right.wait();
      CHECK_MESSAGE(o, o.get_fault()->report);
    }
  }

  TEST_CASE("an agent tells its shape, and has a compute unit for each that was asked for") {
    sequential_scheduler s;
    agent_core const core(s, shape, false);
    CHECK(core.compute_unit_count() == 3);
    CHECK(core.shape().wavefront_slots == 10);
    CHECK(&core.scheduler() == &s);
  }

  TEST_CASE("who holds a launch waits for it on its way out, wherever that is") {
    with_schedulers([](executor& s) {
      agent gpu(s, {.compute_units = 1, .wavefront_size = 32});
      auto word = gpu.allocate<int>(1, "word");
      strand place(s, "place");
      auto const hold = [](completion) -> task<> { co_return; };
      place.spawn(hold(gpu.launch({.work_items = 1}, adds_one{}, word.global())), "holder");
      CHECK(s.run_until([&] {
        auto const rows = s.report_now().rows;
        return std::none_of(rows.begin(), rows.end(),
                            [](report_row const& r) { return r.actor == "holder"; });
      }));
      CHECK(word.host()[0] == 1);
    });
  }
}

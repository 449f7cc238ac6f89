// SPDX-License-Identifier: Apache-2.0
// Children of wavefronts and work-items, and faults: a part of fault.hpp.
#include "after_fault.hpp"
#include "agents.hpp"

#include <quarry/event.hpp>
#include <quarry/nursery.hpp>
#include <quarry/this_actor.hpp>
#include <quarry/when_all.hpp>
#include <quarry/yield.hpp>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <tuple>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

/// Children in all states, of which the last has some itself, when another wavefront throws.
struct throws_beside_children {
  static task<> waits(event& e, std::atomic<int>& alive) {
    tally const inside(alive);
    co_await e.wait();
  }
  static task<> gives_way(std::atomic<int>& alive) {
    tally const inside(alive);
    for (;;)
      co_await yield();
  }
  static task<> polls(event& never_set, std::atomic<int>& alive) {
    tally const inside(alive);
    auto const is_set = [&] { return never_set.is_set(); };
    poll_until wait(is_set);
    co_await wait;
  }
  static task<> joins(event& never_set, std::atomic<int>& alive) {
    tally const inside(alive);
    auto all = when_all(waits(never_set, alive), polls(never_set, alive));
    co_await std::move(all);
  }
  task<> operator()(any_wavefront auto& wf, event& go, event& never_set,
                    std::atomic<int>& alive) const {
    tally const inside(alive);
    if (wf.index_in_group() == 1) {
      auto const all_are_inside = [&] { return alive >= 8; };
      poll_until wait(all_are_inside);
      co_await wait;
      go.set(); // some are ready when they are destroyed
      throw std::logic_error("beside children");
    }
    auto all = when_all(waits(never_set, alive), gives_way(alive), polls(go, alive),
                        joins(never_set, alive), waits(go, alive));
    co_await std::move(all);
  }
};

/// A child of each wavefront, or work-item, waits for the others'.
struct sends_a_child {
  static task<int> add(auto& self, auto mine) {
    int const sum = co_await self.group_reduce(mine, plus{});
    co_return sum;
  }
  static task<int> number() { co_return 7; }
  task<> operator()(any_wavefront auto& wf, global<int> out) const {
    auto both = when_all(add(wf, wf.local_id(0) * 0 + 1), number());
    auto const sums = co_await std::move(both);
    wf.fetch_add(out, std::get<0>(sums), order::relaxed, scope::agent);
  }
  task<> operator()(any_work_item auto& wi, global<int> out) const {
    auto both = when_all(add(wi, 1), number());
    auto const sums = co_await std::move(both);
    wi.fetch_add(out, std::get<0>(sums), order::relaxed, scope::agent);
  }
};

/// Of group 0: wavefront 1 comes to a barrier after a child of wavefront 0, which waits for
/// group 1.
struct waits_beside_its_child {
  static task<> meet(auto& wf, std::atomic<int>& stage) {
    stage = 1;
    co_await wf.barrier();
  }
  task<> operator()(any_wavefront auto& wf, event& e, std::atomic<int>& stage,
                    std::atomic<bool>& is_set, std::atomic<bool>& is_early) const {
    bool const is_beside = wf.linear_group_id() == 0;
    auto const is_turn = [&stage, is_beside] { return stage >= (is_beside ? 1 : 2); };
    if (wf.linear_group_id() == 1) {
      poll_until wait(is_turn);
      co_await wait;
      for (int i = 0; i < 10; ++i)
        co_await yield();
      is_set = true;
      e.set();
    } else if (wf.index_in_group() == 1) {
      poll_until wait(is_turn);
      co_await wait;
      stage = 2;
      co_await wf.barrier();
    } else {
      actor& self = co_await this_actor();
      nursery n;
      n.start(*self.home, meet(wf, stage), "child");
      co_await e.wait();
      is_early = !is_set;
      co_await n.join();
    }
  }
};

/// Its last wavefront throws; the others wait for it beside a child, or do so, too.
struct does_not_join {
  task<> operator()(any_wavefront auto& wf, bool waits, std::atomic<int>& alive) const {
    actor& self = co_await this_actor();
    nursery n;
    n.start(*self.home, throws_beside_children::gives_way(alive), "child");
    while (alive == 0)
      co_await yield();
    if (waits && wf.index_in_group() + 1 != wf.waves_in_group())
      co_await wf.barrier();
    throw std::logic_error("before it joins");
  }
};

} // namespace

TEST_SUITE("emu.fault_children") {
  TEST_CASE("an evicted wavefront's children go with it") {
    with_every_agent([](agent& gpu) {
      for (int i = 0; i < 5; ++i) {
        event go, never_set;
        std::atomic<int> alive{0};
        auto const report = fail_with(gpu.run({.work_groups = 3, .work_items_per_group = 128},
                                              throws_beside_children{}, std::ref(go),
                                              std::ref(never_set), std::ref(alive)),
                                      fault::kind::exception);
        CHECK_SAYS(report, "beside children");
        CHECK(alive == 0);
        still_works(gpu);
      }
    });
  }

  TEST_CASE("so they do where it has not come to join them, or has thrown before it would") {
    with_every_agent([](agent& gpu) {
      for (bool const waits : {true, false}) {
        CAPTURE(waits);
        std::atomic<int> alive{0};
        auto const report = fail_with(gpu.run({.work_groups = 3, .work_items_per_group = 128},
                                              does_not_join{}, waits, std::ref(alive)),
                                      fault::kind::exception);
        CHECK_SAYS(report, "before it joins");
        CHECK(alive == 0);
        still_works(gpu);
      }
    });
  }

  TEST_CASE("a child that waits where only its wavefront, or work-item, can is misuse") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<int>(1, "out");
      auto const run = [&](auto form) {
        auto const report =
            fail_with(gpu.run({.work_groups = 1, .work_items_per_group = 128}, form, out.global()),
                      fault::kind::misuse);
        CHECK_SAYS(report, "a work-group reduce is awaited by a child");
      };
      run([](any_wavefront auto& wf, global<int> sum) { return sends_a_child{}(wf, sum); });
      run([](any_work_item auto& wi, global<int> sum) { return sends_a_child{}(wi, sum); });
      still_works(gpu);
    });
  }

  TEST_CASE("such a child has not arrived: nobody wakes its wavefront out of another wait") {
    with_every_agent([](agent& gpu) {
      int const size = static_cast<int>(gpu.core().shape().wavefront_size);
      event e;
      std::atomic<int> stage{0};
      std::atomic<bool> is_set{false}, is_early{false};
      auto const report = fail_with(gpu.run({.work_groups = 2, .work_items_per_group = 2 * size},
                                            waits_beside_its_child{}, std::ref(e), std::ref(stage),
                                            std::ref(is_set), std::ref(is_early)),
                                    fault::kind::misuse);
      CHECK_SAYS(report, "a barrier is awaited by a child");
      CHECK_FALSE(is_early);
    });
  }
}

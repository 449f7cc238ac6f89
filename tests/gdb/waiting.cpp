// SPDX-License-Identifier: Apache-2.0
// What the debugger's tests look at: kernels that wait, until a marker has been reached.
#include <quarry/emu.hpp>
#include <quarry/quarry.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

using namespace quarry::emu;
using namespace quarry; // that the debugger finds its way nonetheless

namespace {

bool dumps_core = false;
int volatile last_reached = 0;

/// Tests stop here.
[[gnu::noinline]] void reached(int where) {
  last_reached = where;
  if (dumps_core)
    std::abort();
}

task<std::uint32_t> fetch(any_wavefront auto& wf, global<std::uint32_t> flag, int wanted) {
  auto const is_set = [](std::uint32_t v) { return v != 0; };
  auto set = wf.wait_until(flag, is_set, order::acquire, scope::agent);
  std::uint32_t const value = co_await set;
  co_return value + static_cast<std::uint32_t>(wanted);
}

/// Group 0's first wavefront fetches what group 1's last one stores; the others meet at barriers.
struct meet {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> flag) const {
    int const round = 7;
    std::uint32_t total = 0;
    if (wf.linear_group_id() == 0 && wf.index_in_group() == 0) {
      auto value = fetch(wf, flag, round);
      total = co_await std::move(value);
    }
    if (wf.linear_group_id() == 1 && wf.index_in_group() == 1) {
      auto const few = wf.where(wf.local_id() < 66); // the first two lanes of this wavefront
      reached(1);
      wf.store(flag, 1, order::release, scope::agent);
    }
    co_await wf.barrier();
    static_cast<void>(total);
  }
};

/// Odd work-items wait for work-item 6.
struct wait_for_six {
  task<> operator()(any_work_item auto& wi, global<std::uint32_t> flag) const {
    int const id = static_cast<int>(wi.global_id());
    auto const is_set = [](std::uint32_t v) { return v != 0; };
    if (id % 2 == 1) {
      auto set = wi.wait_until(flag, is_set, order::acquire, scope::agent);
      static_cast<void>(co_await set);
    } else if (id == 6) {
      reached(2);
      wi.store(flag, 1, order::release, scope::agent);
    }
  }
};

/// Work-item 5 comes last to the barrier.
struct meet_plainly {
  void operator()(any_plain_work_item auto& wi, global<std::uint32_t> flag) const {
    int const id = static_cast<int>(wi.global_id());
    if (id == 5)
      reached(3);
    wi.barrier();
    if (id == 0)
      wi.store(flag, 1, order::release, scope::agent);
  }
};

/// Group 0 gives way until group 1 has stored.
struct give_way {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> flag) const {
    if (wf.linear_group_id() == 1)
      wf.store(flag, 1, order::release, scope::agent);
    else
      while (wf.load(flag, order::acquire, scope::agent) == 0)
        co_await yield();
  }
};

std::atomic<int> side_by_side = 0;

/// Group 0 and group 1 stand in their functions, each on a thread, when group 1 comes to the
/// marker.
void stand(std::uint64_t group) {
  ++side_by_side;
  while (side_by_side < 2) {
  }
  if (group == 1) {
    reached(4);
    ++side_by_side;
  }
  while (side_by_side < 3) {
  }
}
struct stand_as_waves {
  void operator()(any_wavefront auto& wf) const { stand(wf.linear_group_id()); }
};
struct stand_as_items {
  void operator()(any_plain_work_item auto& wi) const { stand(wi.global_id()); }
};

/// The last work-item of the second wavefront comes last to the barrier.
struct meet_as_items {
  task<> operator()(any_work_item auto& wi) const {
    if (wi.global_id() == 127)
      reached(5);
    co_await wi.barrier();
  }
};

/// Its name is gone by the time of the marker.
[[gnu::noinline]] void reached_by(std::string_view name) {
  last_reached = static_cast<int>(name.size());
  reached(6);
}

/// Of 100 work-items: some lanes of the second wavefront have none. Of the first, two in 32 go to
/// the marker.
struct leave_gaps {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> flag) const {
    auto const me = wf.global_id(0);
    auto const same = me * 0 + 7;
    lane_mask const everybody = wf.active();
    if (auto few = wf.where((me & 31) < 2)) {
      if (wf.index_in_group() == 0)
        reached_by({"gaps", static_cast<std::size_t>(last_reached + 4)});
    }
    if (auto seventh = wf.where(me == same))
      wf.store(flag, static_cast<std::uint32_t>(everybody.count()), order::relaxed, scope::agent);
    co_await wf.barrier();
  }
};

constexpr machine small{.compute_units = 1};
constexpr machine two_units{.compute_units = 2};

template<class Scheduler>
void run(Scheduler& scheduler, std::string_view what) {
  agent gpu(scheduler, what.starts_with("two") ? two_units : small);
  auto flag = gpu.allocate<std::uint32_t>(1, "flag");
  if (what == "items")
    gpu.run({.work_items = 16, .work_items_per_group = 16}, wait_for_six{}, flag.global())
        .or_throw();
  else if (what == "plain")
    gpu.run({.work_items = 16, .work_items_per_group = 16}, meet_plainly{}, flag.global())
        .or_throw();
  else if (what == "item_waves")
    gpu.run({.work_items = 128, .work_items_per_group = 128}, meet_as_items{}).or_throw();
  else if (what == "gaps")
    gpu.run({.work_items = 100, .work_items_per_group = 100}, leave_gaps{}, flag.global())
        .or_throw();
  else if (what == "two_waves")
    gpu.run({.work_groups = 2, .work_items_per_group = 1}, stand_as_waves{}).or_throw();
  else if (what == "two_items")
    gpu.run({.work_groups = 2, .work_items_per_group = 1}, stand_as_items{}).or_throw();
  else if (what == "yield")
    gpu.run({.work_groups = 2, .work_items_per_group = 64}, give_way{}, flag.global()).or_throw();
  else
    gpu.run({.work_groups = 2, .work_items_per_group = 128}, meet{}, flag.global()).or_throw();
}

} // namespace

int main(int argc, char** argv) {
  std::string_view const mode = argc > 1 ? argv[1] : "native";
  std::string_view const what = argc > 2 ? argv[2] : "waves";
  dumps_core = what == "core";
  if (mode == "native") {
    quarry::native_scheduler scheduler({.threads = what.starts_with("two") ? 2U : 1U});
    run(scheduler, what);
  } else {
    quarry::sequential_scheduler scheduler;
    scheduler.run([&] { run(scheduler, what); });
  }
  std::puts("done");
}

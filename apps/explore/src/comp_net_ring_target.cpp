// SPDX-License-Identifier: Apache-2.0
// ComP-Net's ring between a work-group and its network service, with indices that wrap at once.
#include "few_nodes.hpp"
#include "targets.hpp"

#include <quarry/emu.hpp>
#include <quarry/net.hpp>

#include <cstdint>
#include <functional>

namespace quarry::exploration {
namespace {

using namespace quarry::emu;
using namespace quarry::net::comp_net;

using small_rings = basic_rings<2>; // two entries, whose indices wrap after four
constexpr std::uint32_t puts = 4;   // then a get

/// What the work-group and the service share.
struct ring_world {
  world& w;
  small_rings rings;
  buffer<std::uint64_t> source; ///< what a put points to
  buffer<std::uint64_t> fetched;

  ring_world(world& those, allocations& known, ring_orders const& orders)
      : w(those), rings(known, 1, 2, orders), source(known, puts, "source"),
        fetched(known, 1, "fetched") {}
};

/// Puts that do not wait, each of a word of its own; then a get, which does.
struct work_group_side {
  task<> operator()(any_wavefront auto& wf, ring_world& shared) const {
    ring_writer mine;
    for (std::uint32_t i = 0; i < puts; ++i) {
      wf.store(shared.source.global() + i, i + 100);
      if (!shared.rings.has_room(mine)) {
        task<> room = shared.rings.wait_for_room(wf, 0, mine);
        co_await std::move(room);
      }
      shared.rings.post(wf, 0, mine, {.target = i, .operand = ~std::uint64_t{i}, .pe = i});
    }
    task<bool> sent = shared.rings.all_completed(wf, 0, mine);
    shared.w.check(co_await std::move(sent), "an operation was given up");
    command const get{.target = puts,
                      .operand = ~std::uint64_t{puts},
                      .what = operation::get,
                      .flags = command::is_blocking};
    std::uint32_t const index = shared.rings.post(wf, 0, mine, get);
    static_cast<void>(co_await shared.rings.completed(wf, 0, index));
    shared.w.check(wf.load(shared.fetched.global()) == 7,
                   "a get is over before its data are there");
    shared.w.check(shared.rings.reply(wf, 0, index) == 9, "a reply is not there");
  }
};

template<class A>
task<> serve(A& self, ring_world& shared) {
  ring_reader mine;
  for (std::uint32_t i = 0; i <= puts; ++i) {
    static_cast<void>(co_await shared.rings.next_posted(self, 0, mine));
    command const c = shared.rings.take(self, 0, mine);
    shared.w.check(c.target == i && c.operand == ~std::uint64_t{i}, "a command is not whole");
    if (c.what == operation::put)
      shared.w.check(self.load(shared.source.global() + i % puts) == i + 100,
                     "data leave before they are written");
    else
      self.store(shared.fetched.global(), 7);
    shared.rings.complete(self, 0, mine, 9);
  }
}

/// The service on another compute unit of the agent: it meets the work-group in the L2.
struct service_side {
  task<> operator()(any_wavefront auto& wf, ring_world& shared) const {
    task<> served = serve(wf, shared);
    co_await std::move(served);
  }
};

constexpr machine small{.compute_units = 2, .wavefront_size = 32};
constexpr launch_config one_wavefront{.work_items = 32, .work_items_per_group = 32};

void run_on_agent(world& w, weakening const* weak) {
  explored_agent gpu(w.scheduler(), small);
  ring_world shared(w, gpu.core().known(), weakened<agent_ring_orders>(weak));
  auto serves = gpu.launch(one_wavefront, service_side{}, std::ref(shared));
  static_cast<void>(gpu.run(one_wavefront, work_group_side{}, std::ref(shared)));
  static_cast<void>(serves.wait());
}

void run_on_host(world& w, weakening const* weak) {
  explored_agent gpu(w.scheduler(), small);
  ring_world shared(w, gpu.core().known(), weakened<ring_orders>(weak));
  w.start_task("service", [&](world_core& self) { return serve(self, shared); });
  static_cast<void>(gpu.run(one_wavefront, work_group_side{}, std::ref(shared)));
  w.join();
}

} // namespace

target comp_net_ring_target() {
  return {"comp-net-ring",
          "a work-group and its service on the agent, four puts and a get through two entries",
          weakenings_of<agent_ring_orders>(), run_on_agent};
}

target comp_net_host_ring_target() {
  return {"comp-net-host-ring",
          "a work-group and its service on the host, four puts and a get through two entries",
          weakenings_of<ring_orders>(), run_on_host};
}

} // namespace quarry::exploration

// SPDX-License-Identifier: Apache-2.0
// ComP-Net's ring between a work-group and its network service, with indices that wrap at once.
// When the work-group is gone, the service gives the ring back, and another one goes on where it
// was; then the job fails.
#include "few_nodes.hpp"
#include "targets.hpp"

#include <quarry/emu.hpp>
#include <quarry/net.hpp>

#include <cstdint>
#include <functional>
#include <source_location>
#include <type_traits>

namespace quarry::exploration {
namespace {

using namespace quarry::emu;
using namespace quarry::net::comp_net;

using small_rings = basic_rings<2>;        // two entries, whose indices wrap after four
constexpr std::uint32_t puts = 4;          // then a get
constexpr std::uint32_t last = puts + 1;   // of the first work-group: it is gone
constexpr std::uint32_t others = last + 1; // a put of the second one

/// What the work-groups and the service share.
struct ring_world {
  world& w;
  small_rings rings;
  buffer<std::uint64_t> source; ///< what a put points to
  buffer<std::uint64_t> fetched;
  buffer<ring_state> states; ///< of the one ring, which the first work-group has
  buffer<std::uint32_t> failed;
  buffer<std::uint64_t> awaited; ///< nobody ever writes it

  ring_world(world& those, allocations& known, ring_orders const& orders)
      : w(those), rings(known, 1, 2, orders), source(known, puts, "source"),
        fetched(known, 1, "fetched"), states(known, 1, "states"), failed(known, 1, "failed"),
        awaited(known, 1, "awaited") {
    w.host().store(member(states.global(), &ring_state::is_open), 1);
  }
};

command numbered(std::uint32_t i, operation what) {
  return {
      .target = i, .operand = ~std::uint64_t{i}, .pe = static_cast<std::uint16_t>(i), .what = what};
}

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
      shared.rings.post(wf, 0, mine, numbered(i, operation::put));
    }
    task<bool> sent = shared.rings.all_completed(wf, 0, mine);
    shared.w.check(co_await std::move(sent), "an operation was given up");
    command get = numbered(puts, operation::get);
    get.flags = command::is_blocking;
    std::uint32_t const index = shared.rings.post(wf, 0, mine, get);
    static_cast<void>(co_await shared.rings.completed(wf, 0, index));
    shared.w.check(wf.load(shared.fetched.global()) == 7,
                   "a get is over before its data are there");
    shared.w.check(shared.rings.reply(wf, 0, index) == 9, "a reply is not there");
    shared.rings.post(wf, 0, mine, numbered(last, operation::quiet));
  }
};

/// Takes the ring when it is free, puts once more, and waits until the job fails.
struct heir_side {
  task<> operator()(any_wavefront auto& wf, ring_world& shared) const {
    auto const states = shared.states.global();
    auto const is_free = [](std::uint32_t is_open) { return is_open == 0; };
    static_cast<void>(co_await wf.wait_until(member(states, &ring_state::is_open), is_free,
                                             order::relaxed, scope::system));
    auto const left = try_take_ring(wf, states, 0, shared.rings.orders());
    shared.w.check(left && left->write == others % 4 && left->barriers == 2 &&
                       left->reductions == 3,
                   "a context goes on somewhere else");
    if (!left)
      co_return;
    ring_writer mine{left->write, left->write};
    wf.store(shared.source.global() + others % puts, others + 100);
    shared.rings.post(wf, 0, mine, numbered(others, operation::put));
    task<bool> sent = shared.rings.all_completed(wf, 0, mine);
    shared.w.check(co_await std::move(sent), "an operation was given up");
    using wait_type = heap_wait<std::remove_reference_t<decltype(wf)>, std::uint64_t>;
    wait_type wait(wf, {shared.awaited.global(), net::shmem::comparison::equal, 1},
                   {order::acquire, scope::system},
                   {shared.failed.global(), shared.rings.orders().see_failure}, {},
                   std::source_location::current());
    auto const got = co_await wait;
    shared.w.check(got.how == wait_type::ending::failed, "a wait ended for nothing");
  }
};

template<class A>
task<> serve(A& self, ring_world& shared) {
  ring_reader mine;
  for (std::uint32_t i = 0; i <= others; ++i) {
    static_cast<void>(co_await shared.rings.next_posted(self, 0, mine));
    command const c = shared.rings.take(self, 0, mine);
    shared.w.check(c.target == i && c.operand == ~std::uint64_t{i}, "a command is not whole");
    if (c.what == operation::put)
      shared.w.check(self.load(shared.source.global() + i % puts) == i + 100,
                     "data leave before they are written");
    else if (c.what == operation::get)
      self.store(shared.fetched.global(), 7);
    shared.rings.complete(self, 0, mine, 9);
    if (i == last)
      give_ring_back(self, shared.states.global(), 0,
                     {.write = mine.read, .barriers = 2, .reductions = 3}, shared.rings.orders());
  }
  self.store(shared.failed.global(), 1U, shared.rings.orders().tell_failure);
}

/// The service on another compute unit of the agent: it meets the work-groups in the L2.
struct service_side {
  task<> operator()(any_wavefront auto& wf, ring_world& shared) const {
    task<> served = serve(wf, shared);
    co_await std::move(served);
  }
};

constexpr machine small{.compute_units = 3, .wavefront_size = 32};
constexpr launch_config one_wavefront{.work_items = 32, .work_items_per_group = 32};

void run_on_agent(world& w, weakening const* weak) {
  explored_agent gpu(w.scheduler(), small);
  ring_world shared(w, gpu.core().known(), weakened<agent_ring_orders>(weak));
  auto serves = gpu.launch(one_wavefront, service_side{}, std::ref(shared));
  auto follows = gpu.launch(one_wavefront, heir_side{}, std::ref(shared));
  static_cast<void>(gpu.run(one_wavefront, work_group_side{}, std::ref(shared)));
  static_cast<void>(follows.wait());
  static_cast<void>(serves.wait());
}

void run_on_host(world& w, weakening const* weak) {
  explored_agent gpu(w.scheduler(), small);
  ring_world shared(w, gpu.core().known(), weakened<ring_orders>(weak));
  w.start_task("service", [&](world_core& self) { return serve(self, shared); });
  auto follows = gpu.launch(one_wavefront, heir_side{}, std::ref(shared));
  static_cast<void>(gpu.run(one_wavefront, work_group_side{}, std::ref(shared)));
  static_cast<void>(follows.wait());
  w.join();
}

} // namespace

target comp_net_ring_target() {
  return {"comp-net-ring",
          "a work-group, another one after it, and their service on the agent: puts and a get "
          "through two entries",
          weakenings_of<agent_ring_orders>(), run_on_agent};
}

target comp_net_host_ring_target() {
  return {"comp-net-host-ring",
          "a work-group, another one after it, and their service on the host: puts and a get "
          "through two entries",
          weakenings_of<ring_orders>(), run_on_host};
}

} // namespace quarry::exploration

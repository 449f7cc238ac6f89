// SPDX-License-Identifier: Apache-2.0
// A channel between producers on a host and on the GPU, its aggregator, and the kernels that it
// dispatches.
#include "targets.hpp"

#include <quarry/emu.hpp>
#include <quarry/yield.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace quarry::exploration {
namespace {

using namespace quarry::emu;

struct parcel {
  std::uint32_t number;
  std::uint32_t copy;
};
using small_channel = basic_channel<parcel>;

constexpr std::uint32_t width = 4, done_share = 2;
constexpr std::uint32_t lanes_that_send = 2, rounds = 2;
constexpr std::uint32_t from_host = 2, total = lanes_that_send * rounds + from_host;

struct channel_world {
  world& w;
  small_channel elements;
  std::vector<int> seen;

  channel_world(world& those, allocations& known, channel_orders const& orders)
      : w(those), elements(known, {.width = width,
                                   .elements_per_done_count = done_share,
                                   .orders = orders,
                                   .name = "channel"}),
        seen(total) {}
};

/// Two work-items, an element each, twice.
struct send_from_wavefront {
  task<> operator()(any_wavefront auto& wf, channel_world& shared) const {
    using w = std::remove_reference_t<decltype(wf)>;
    using words = typename w::template lanes<std::uint32_t>;
    auto const lane = convert<std::uint32_t>(wf.global_id().to_lanes());
    auto const few = wf.where(lane < lanes_that_send);
    small_channel& ch = shared.elements;
    for (std::uint32_t r = 0; r < rounds; ++r) {
      words const number = lane + r * lanes_that_send;
      auto allocated = ch.talloc(wf, words(1));
      auto const mine = co_await std::move(allocated);
      wf.store(ch.at(mine, 0, &parcel::number), number);
      wf.store(ch.at(mine, 0, &parcel::copy), ~number);
      task<> sent = ch.enq(wf, mine);
      co_await std::move(sent);
    }
  }
};

task<> send_from_host(world_core& self, channel_world& shared) {
  small_channel& ch = shared.elements;
  auto allocated = ch.talloc(self, from_host);
  channel_elements const mine = co_await std::move(allocated);
  for (std::uint32_t i = 0; i < from_host; ++i) {
    std::uint32_t const number = lanes_that_send * rounds + i;
    self.store(ch.at(mine, i), parcel{number, ~number});
  }
  task<> sent = ch.enq(self, mine);
  co_await std::move(sent);
}

struct consume {
  void operator()(any_wavefront auto& wf, channel_world& shared, std::uint64_t first,
                  std::uint32_t count) const {
    small_channel& ch = shared.elements;
    auto const lane = convert<std::uint32_t>(wf.global_id().to_lanes());
    auto const some = wf.where(lane < count);
    auto const position = ch.deq(wf, lane + static_cast<std::uint32_t>(first));
    auto const number = wf.load(ch.field(position, &parcel::number));
    auto const copy = wf.load(ch.field(position, &parcel::copy));
    wf.active().for_each([&](int i) {
      bool const is_whole = copy[i] == ~number[i] && number[i] < total;
      shared.w.check(is_whole, "an element is torn, or was read before it was written");
      if (is_whole)
        shared.w.check(++shared.seen[number[i]] == 1, "an element came twice");
    });
    ch.tfree(wf, position);
  }
};

task<> aggregate(world_core& self, channel_world& shared, explored_agent& gpu) {
  small_channel& ch = shared.elements;
  std::deque<completion> running;
  std::uint32_t freed = 0;
  for (std::uint32_t taken = 0; taken < total || freed < total;) {
    auto const has_work = [&] { return ch.ready(self) != 0 || ch.can_reclaim(self); };
    poll_until wait(has_work);
    co_await wait;
    shared.w.check(ch.waiting(self) <= 2, "more wait for room than there are producers");
    if (std::uint32_t const count = ch.ready(self); count != 0) {
      std::uint64_t const first = ch.take(count);
      running.push_back(gpu.launch({.work_items = 32, .work_items_per_group = 32}, consume{},
                                   std::ref(shared), first, count));
      taken += count;
    }
    freed += ch.reclaim(self); // what was dispatched may still run
  }
  for (completion& c : running)
    static_cast<void>(c.wait());
}

void run_channel(world& w, weakening const* weak) {
  explored_agent gpu(w.scheduler(), {.compute_units = 2, .wavefront_size = 32});
  channel_world shared(w, gpu.core().known(), weakened<channel_orders>(weak));
  w.start_task("aggregator", [&](world_core& self) { return aggregate(self, shared, gpu); });
  w.start_task("host producer", [&](world_core& self) { return send_from_host(self, shared); });
  static_cast<void>(gpu.run({.work_items = 32, .work_items_per_group = 32}, send_from_wavefront{},
                            std::ref(shared)));
  w.join();
  for (int const n : shared.seen)
    w.check(n == 1, "an element was lost");
  w.check(shared.elements.usage().waiting == 0, "somebody is still said to wait for room");
}

} // namespace

target channel_target() {
  return {"channel",
          "a wavefront and a host thread enqueue six elements, four wide; an aggregator dispatches "
          "kernels that consume them",
          weakenings_of<channel_orders>(), run_channel};
}

} // namespace quarry::exploration

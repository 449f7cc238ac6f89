// SPDX-License-Identifier: Apache-2.0
// Channels, explored where their target does not go: producers that wait for room again and again,
// and send() by wavefronts whose work-items have elements of different numbers.
#include "explored_passes.hpp"

#include <quarry/emu.hpp>
#include <quarry/yield.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <explore/delivery.hpp>
#include <type_traits>
#include <utility>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;
using quarry::exploration::delivery;
using quarry::exploration::parcel;

namespace {

/// Takes so many elements, and gives back their places; then nobody waits for room any more.
template<class Channel>
task<> consume(world_core& self, world& w, Channel& ch, std::uint32_t count, delivery& got) {
  std::uint32_t freed = 0;
  for (std::uint32_t taken = 0; taken < count || freed < count;) {
    auto const has_work = [&] { return ch.ready(self) != 0 || ch.can_reclaim(self); };
    poll_until wait(has_work);
    co_await wait;
    w.check(ch.room(self) <= ch.width(), "more room than there is");
    std::uint32_t const ready = ch.ready(self);
    std::uint64_t const first = ready == 0 ? 0 : ch.take(ready);
    for (std::uint32_t i = 0; i < ready; ++i) {
      got.take(self.load(ch.deq(self, first + i)));
      ch.tfree(self, first + i);
    }
    taken += ready;
    freed += ch.reclaim(self);
  }
  w.check(ch.ready(self) == 0 && ch.room(self) == ch.width(), "it is empty");
}
template<class Channel>
void check_left(world& w, Channel const& ch, delivery& got) {
  got.end();
  w.check(ch.usage().waiting == 0, "somebody is still counted among those that wait");
  w.check(ch.usage().in_use == 0, "elements are in use for ever");
}

/// The wavefront's first four work-items have none, one, two and three elements.
struct send_some {
  task<> operator()(any_wavefront auto& wf, channel<parcel>& ch) const {
    using words = typename std::remove_reference_t<decltype(wf)>::template lanes<std::uint32_t>;
    auto const lane = convert<std::uint32_t>(wf.local_id().to_lanes()) & 31U;
    auto const few = wf.where(lane < 4U);
    words const first = lane * (lane - 1U) / 2U + 6 * wf.index_in_group();
    task<> sent = ch.send(wf, words(lane), [&](auto const& elements) {
      for (std::uint32_t i = 0; i < 3; ++i) {
        auto const those = wf.where(elements.count > i);
        wf.store(ch.at(elements, i, &parcel::number), first + i);
        wf.store(ch.at(elements, i, &parcel::copy), ~(first + i));
      }
    });
    co_await std::move(sent);
  }
};

} // namespace

TEST_SUITE("emu.explored_channels") {
  TEST_CASE("two producers that wait for room again and again are let go on") {
    passes(1'000, [](world& w) {
      constexpr std::uint32_t many = 6, few = 2;
      channel<parcel> ch(w.known(), {.width = 2, .elements_per_done_count = 1});
      delivery got(w, many + few, false);
      auto const send = [&ch](world_core& self, std::uint32_t first,
                              std::uint32_t count) -> task<> {
        for (std::uint32_t i = first; i < first + count; ++i) {
          auto allocated = ch.talloc(self, 1);
          channel_elements const mine = co_await std::move(allocated);
          self.store(ch.at(mine), parcel::of(i));
          task<> sent = ch.enq(self, mine);
          co_await std::move(sent);
        }
      };
      w.start_task("many", [&](world_core& self) { return send(self, 0, many); });
      w.start_task("few", [&](world_core& self) { return send(self, many, few); });
      w.start_task("consumer",
                   [&](world_core& self) { return consume(self, w, ch, many + few, got); });
      w.join();
      check_left(w, ch, got);
    });
  }

  TEST_CASE("a wavefront's work-items send what they have, together or each for itself") {
    for (auto const how : {channel_reservation::per_wavefront, channel_reservation::per_work_item})
      passes(1'000, [how](world& w) {
        explored_agent gpu(w.scheduler(), {.compute_units = 2, .wavefront_size = 32});
        channel<parcel> ch(gpu.core().known(),
                           {.width = 4, .elements_per_done_count = 2, .reservation = how});
        delivery got(w, 12, false);
        w.start_task("consumer", [&](world_core& self) { return consume(self, w, ch, 12, got); });
        gpu.run({.work_items = 64, .work_items_per_group = 64}, send_some{}, std::ref(ch))
            .or_throw();
        w.join();
        check_left(w, ch, got);
      });
  }
}

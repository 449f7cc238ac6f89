// SPDX-License-Identifier: Apache-2.0
// Flag and payload in one slot: bugs of GPU-initiated communication as they were published.
#include "exhibit.hpp"

#include <quarry/net/comp_net/ring.hpp>

#include <optional>

using namespace quarry_test;

namespace {

/// How a trigger of two words is written and polled.
struct trigger_orders {
  bool polls_second; ///< the word that the proxy waits for: the second, or the first
  std::optional<order> first, second; ///< none: a plain store
  bool second_goes_first;
  order poll;
};

/// MSCCL++: a trigger is two 8-byte words, fst and snd; the proxy polls one and reads both.
/// Source   microsoft/mscclpp PR#213, #232, #499, #864
case_world torn_trigger(trigger_orders o) {
  return [o](world& w) {
    auto slot = w.allocate<std::uint64_t>(2, "trigger");
    auto const fst = slot.global(), snd = slot.global() + 1;
    w.start("wavefront", [=](world_core& self) {
      auto const put = [&](auto at, std::uint64_t v, std::optional<order> how) {
        if (how)
          self.store(at, v, *how, scope::system);
        else
          self.store(at, v);
      };
      if (o.second_goes_first)
        put(snd, 7, o.second);
      put(fst, 5, o.first);
      if (!o.second_goes_first)
        put(snd, 7, o.second);
    });
    w.start_task("proxy", [=, &w](world_core& self) -> task<> {
      auto poll = nonzero(self, o.polls_second ? snd : fst, o.poll);
      static_cast<void>(co_await poll);
      auto const a = self.load(fst, order::relaxed, scope::system);
      auto const b = self.load(snd, order::relaxed, scope::system);
      w.check(a == 5 && b == 7, "a torn trigger");
    });
    w.join();
  };
}

/// MSCCL++: the payload, then the whole trigger relaxed. Source   PR#229, #499
case_world dropped_release(order trigger) {
  return [trigger](world& w) {
    auto words = w.allocate<std::uint64_t>(16, "payload and trigger");
    auto const payload = words.global(), flag = words.global() + 8;
    w.start("wavefront", [=](world_core& self) {
      self.store(payload, 42);
      self.store(flag, 1, trigger, scope::system);
    });
    w.start_task("proxy", [=, &w](world_core& self) -> task<> {
      auto poll = nonzero(self, flag, order::acquire);
      static_cast<void>(co_await poll);
      w.check(self.load(payload) == 42, "stale data are sent");
    });
    w.join();
  };
}

using quarry::net::comp_net::ring_orders;

/// The same slots as ComP-Net's ring, the one that Quarry uses: a work-group hands over commands
/// that point to data; the service reads them, clears the status, then moves the read index.
case_world through_ring(ring_orders orders) {
  return [orders](world& w) {
    using namespace quarry::net::comp_net;
    constexpr std::uint64_t laps = 3;
    auto data = w.allocate<std::uint64_t>(laps, "payload");
    auto const payload = data.global();
    basic_rings<2> ring(w.known(), 1, 1, orders);
    w.start_task("work-group", [&ring, payload](world_core& self) -> task<> {
      ring_writer mine;
      for (std::uint64_t lap = 0; lap < laps; ++lap) {
        self.store(payload + lap, lap + 42);
        if (!ring.has_room(mine)) {
          task<> room = ring.wait_for_room(self, 0, mine);
          co_await std::move(room);
        }
        ring.post(self, 0, mine, {.target = lap});
      }
    });
    w.start_task("service", [&ring, &w, payload](world_core& self) -> task<> {
      ring_reader mine;
      for (std::uint64_t lap = 0; lap < laps; ++lap) {
        static_cast<void>(co_await ring.next_posted(self, 0, mine));
        command const c = ring.take(self, 0, mine);
        w.check(c.target == lap, "a command was lost, or came twice");
        w.check(self.load(payload + lap) == lap + 42, "stale data are sent");
        ring.complete(self, 0, mine);
      }
    });
    w.join();
  };
}
ring_orders credit_relaxed() {
  ring_orders orders;
  orders.advance_read_index.how = order::relaxed;
  return orders;
}
ring_orders status_relaxed() {
  ring_orders orders;
  orders.post_status.how = order::relaxed;
  return orders;
}

/// The proxy clears the slot, then gives the credit; a late clear erases the next lap's trigger.
/// Source   MSCCL++ PR#30; NCCL's GIN proxy has the same shape (by our model)
case_world clear_then_credit(order credit) {
  return [credit](world& w) {
    auto words = w.allocate<std::uint64_t>(16, "slot and tail");
    auto const slot = words.global(), tail = words.global() + 8;
    constexpr std::uint64_t laps = 2;
    w.start_task("wavefront", [=](world_core& self) -> task<> {
      for (std::uint64_t lap = 1; lap <= laps; ++lap) {
        auto const has_room = [lap](std::uint64_t t) { return t + 1 >= lap; };
        auto room = self.wait_until(tail, has_room, order::acquire, scope::system);
        static_cast<void>(co_await room);
        self.store(slot, lap, order::release, scope::system);
      }
    });
    w.start_task("proxy", [=, &w](world_core& self) -> task<> {
      for (std::uint64_t lap = 1; lap <= laps; ++lap) {
        auto poll = nonzero(self, slot, order::acquire);
        w.check(co_await poll == lap, "a trigger of another lap");
        self.store(slot, 0, order::relaxed, scope::system);
        self.store(tail, lap, credit, scope::system);
      }
    });
    w.join();
  };
}

/// NVSHMEM: a phase bit in every word; nothing is ordered, and nothing needs to be.
void phase_in_every_word(world& w) {
  constexpr int words = 3;
  auto ring = w.allocate<std::uint64_t>(words, "descriptor");
  auto const first = ring.global();
  w.start("wavefront", [=](world_core& self) {
    for (int i = 0; i < words; ++i)
      self.store(first + i, 2 * (10 + static_cast<std::uint64_t>(i)) + 1, order::relaxed,
                 scope::system);
  });
  w.start_task("proxy", [=, &w](world_core& self) -> task<> {
    for (int i = words; i-- != 0;) {
      auto poll = nonzero(self, first + i, order::relaxed);
      w.check(co_await poll / 2 == 10 + static_cast<std::uint64_t>(i), "a torn descriptor");
    }
  });
  w.join();
}

/// NCCL: the sender polls a slot's idx and then loads nreqs. Source   #1983, PR#2393
case_world idx_then_nreqs(bool fences) {
  return [fences](world& w) {
    auto words = w.allocate<std::uint64_t>(16, "idx and nreqs");
    auto const idx = words.global(), nreqs = words.global() + 8;
    w.start("receiver", [=](world_core& self) {
      self.store(nreqs, 3, order::relaxed, scope::system);
      self.store(idx, 1, order::release, scope::system);
    });
    w.start_task("sender", [=, &w](world_core& self) -> task<> {
      auto poll = nonzero(self, idx, order::relaxed);
      static_cast<void>(co_await poll);
      if (fences)
        self.fence(order::acquire, scope::system);
      w.check(self.load(nreqs, order::relaxed, scope::system) == 3, "nreqs of the last use");
    });
    w.join();
  };
}

} // namespace

namespace quarry_test {

std::vector<exhibit> slot_exhibits() {
  auto const relaxed = order::relaxed, release = order::release, acquire = order::acquire;
  return {
      {"1",
       "MSCCL++, torn trigger",
       "PR#213, #232, #499, #864",
       {wrong("both words plain",
              torn_trigger({false, std::nullopt, std::nullopt, false, acquire})),
        wrong("both relaxed", torn_trigger({false, relaxed, relaxed, true, acquire})),
        right("fst released", torn_trigger({false, release, relaxed, true, acquire})),
        right("parity in snd, released", torn_trigger({true, relaxed, release, false, acquire})),
        wrong("parity, snd relaxed", torn_trigger({true, relaxed, relaxed, false, acquire})),
        wrong("parity, poll relaxed", torn_trigger({true, relaxed, release, false, relaxed}))}},
      {"2",
       "MSCCL++, dropped release",
       "PR#229, #499",
       {wrong("trigger relaxed", dropped_release(relaxed)),
        right("trigger released", dropped_release(release)),
        wrong("ComP-Net's ring, its markers relaxed", through_ring(status_relaxed()))}},
      {"3 and 5",
       "MSCCL++, NCCL GIN: clear, then credit",
       "MSCCL++ PR#30; NCCL: by our model",
       {wrong("credit relaxed", clear_then_credit(relaxed)),
        right("credit released", clear_then_credit(release)),
        wrong("ComP-Net's ring, credit relaxed", through_ring(credit_relaxed())),
        right("ComP-Net's ring as it is", through_ring({}))}},
      {"7",
       "NVSHMEM, a phase bit in every word",
       "the control",
       {right("everything relaxed", phase_in_every_word)}},
      {"18",
       "NCCL, idx, then nreqs",
       "#1983, PR#2393",
       {wrong("no fence", idx_then_nreqs(false)), right("an acquire fence", idx_then_nreqs(true))}},
  };
}

} // namespace quarry_test

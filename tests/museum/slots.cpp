// SPDX-License-Identifier: Apache-2.0
// Flag and payload in one slot: bugs of GPU-initiated communication as they were published.
#include "exhibit.hpp"

#include <quarry/net/comp_net/ring.hpp>

#include <optional>

using namespace quarry_test;
using namespace quarry::emu;

namespace {

/// How a trigger of two words is written and polled.
struct trigger_orders {
  bool polls_second; ///< the word that the proxy waits for: the second, or the first
  std::optional<order> first, second; ///< none: a plain store
  bool second_goes_first;
  order poll;
};

using words = global<std::uint64_t>;

struct puts_trigger {
  words fst, snd;
  trigger_orders o;
  void operator()(any_wavefront auto& wf) const {
    auto const put = [&](words at, std::uint64_t v, std::optional<order> how) {
      if (how)
        wf.store(at, v, *how, scope::system);
      else
        wf.store(at, v);
    };
    if (o.second_goes_first)
      put(snd, 7, o.second);
    put(fst, 5, o.first);
    if (!o.second_goes_first)
      put(snd, 7, o.second);
  }
};

/// MSCCL++: a trigger is two 8-byte words, fst and snd; the proxy polls one and reads both.
/// Source   microsoft/mscclpp PR#213, #232, #499, #864
case_world torn_trigger(trigger_orders o) {
  return [o](world& w) {
    auto slot = w.allocate<std::uint64_t>(2, "trigger");
    auto const fst = slot.global(), snd = slot.global() + 1;
    w.start_task("proxy", [=, &w](world_core& self) -> task<> {
      auto poll = nonzero(self, o.polls_second ? snd : fst, o.poll);
      static_cast<void>(co_await poll);
      auto const a = self.load(fst, order::relaxed, scope::system);
      auto const b = self.load(snd, order::relaxed, scope::system);
      w.check(a == 5 && b == 7, "a torn trigger");
    });
    run_wavefront(w, puts_trigger{fst, snd, o});
    w.join();
  };
}

struct sends_payload {
  words payload, flag;
  order trigger;
  void operator()(any_wavefront auto& wf) const {
    wf.store(payload, 42);
    wf.store(flag, 1, trigger, scope::system);
  }
};

/// MSCCL++: the payload, then the whole trigger relaxed. Source   PR#229, #499
case_world dropped_release(order trigger) {
  return [trigger](world& w) {
    auto both = w.allocate<std::uint64_t>(16, "payload and trigger");
    auto const payload = both.global(), flag = both.global() + 8;
    w.start_task("proxy", [=, &w](world_core& self) -> task<> {
      auto poll = nonzero(self, flag, order::acquire);
      static_cast<void>(co_await poll);
      w.check(self.load(payload) == 42, "stale data are sent");
    });
    run_wavefront(w, sends_payload{payload, flag, trigger});
    w.join();
  };
}

using quarry::net::comp_net::ring_orders;

/// The same slots as ComP-Net's ring, the one that Quarry uses: a work-group hands over commands
/// that point to data; the service reads them, clears the status, then moves the read index.
using small_rings = quarry::net::comp_net::basic_rings<2>;

struct posts_commands {
  static constexpr std::uint64_t laps = 3;
  small_rings& ring;
  words payload;
  task<> operator()(any_wavefront auto& wf) const {
    quarry::net::comp_net::ring_writer mine;
    for (std::uint64_t lap = 0; lap < laps; ++lap) {
      wf.store(payload + lap, lap + 42);
      if (!ring.has_room(mine)) {
        task<> room = ring.wait_for_room(wf, 0, mine);
        co_await std::move(room);
      }
      ring.post(wf, 0, mine, {.target = lap});
    }
  }
};

case_world through_ring(ring_orders orders) {
  return [orders](world& w) {
    using namespace quarry::net::comp_net;
    auto data = w.allocate<std::uint64_t>(posts_commands::laps, "payload");
    auto const payload = data.global();
    small_rings ring(w.known(), 1, 1, orders);
    w.start_task("service", [&ring, &w, payload](world_core& self) -> task<> {
      ring_reader mine;
      for (std::uint64_t lap = 0; lap < posts_commands::laps; ++lap) {
        static_cast<void>(co_await ring.next_posted(self, 0, mine));
        command const c = ring.take(self, 0, mine);
        w.check(c.target == lap, "a command was lost, or came twice");
        w.check(self.load(payload + lap) == lap + 42, "stale data are sent");
        ring.complete(self, 0, mine);
      }
    });
    run_wavefront(w, posts_commands{ring, payload});
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

/// A trigger a lap, through one slot.
struct fills_slot {
  static constexpr std::uint64_t laps = 2;
  words slot, tail;
  bool awaits_empty;
  task<> operator()(any_wavefront auto& wf) const {
    for (std::uint64_t lap = 1; lap <= laps; ++lap) {
      auto const has_room = [lap](std::uint64_t t) { return t + 1 >= lap; };
      auto room = wf.wait_until(tail, has_room, order::acquire, scope::system);
      static_cast<void>(co_await room);
      if (awaits_empty) {
        auto const is_empty = [](std::uint64_t trigger) { return trigger == 0; };
        auto empty = wf.wait_until(slot, is_empty, order::acquire, scope::system);
        static_cast<void>(co_await empty);
      }
      wf.store(slot, lap, order::release, scope::system);
    }
  }
};

/// The proxy clears the slot, then gives the credit; a late clear erases the next lap's trigger.
/// Source   MSCCL++ PR#30; NCCL's GIN proxy has the same shape (by our model)
case_world clear_then_credit(order credit, bool awaits_empty = false) {
  return [=](world& w) {
    auto both = w.allocate<std::uint64_t>(16, "slot and tail");
    auto const slot = both.global(), tail = both.global() + 8;
    w.start_task("proxy", [=, &w](world_core& self) -> task<> {
      for (std::uint64_t lap = 1; lap <= fills_slot::laps; ++lap) {
        auto poll = nonzero(self, slot, order::acquire);
        w.check(co_await poll == lap, "a trigger of another lap");
        self.store(slot, 0, order::relaxed, scope::system);
        self.store(tail, lap, credit, scope::system);
      }
    });
    run_wavefront(w, fills_slot{slot, tail, awaits_empty});
    w.join();
  };
}

struct puts_phases {
  static constexpr int word_count = 3;
  words descriptor;
  void operator()(any_wavefront auto& wf) const {
    for (int i = 0; i < word_count; ++i)
      wf.store(descriptor + i, 2 * (10 + static_cast<std::uint64_t>(i)) + 1, order::relaxed,
               scope::system);
  }
};

/// NVSHMEM: a phase bit in every word; nothing is ordered, and nothing needs to be.
void phase_in_every_word(world& w) {
  auto ring = w.allocate<std::uint64_t>(puts_phases::word_count, "descriptor");
  auto const first = ring.global();
  w.start_task("proxy", [=, &w](world_core& self) -> task<> {
    for (int i = puts_phases::word_count; i-- != 0;) {
      auto poll = nonzero(self, first + i, order::relaxed);
      w.check(co_await poll / 2 == 10 + static_cast<std::uint64_t>(i), "a torn descriptor");
    }
  });
  run_wavefront(w, puts_phases{first});
  w.join();
}

/// NCCL: the sender polls a slot's idx and then loads nreqs. Source   #1983, PR#2393
case_world idx_then_nreqs(bool fences) {
  return [fences](world& w) {
    auto both = w.allocate<std::uint64_t>(16, "idx and nreqs");
    auto const idx = both.global(), nreqs = both.global() + 8;
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
       {wrong("both words plain", {"race"}, "check",
              torn_trigger({false, std::nullopt, std::nullopt, false, acquire})),
        wrong("both relaxed", {"check"}, "check",
              torn_trigger({false, relaxed, relaxed, true, acquire})),
        right("fst released", torn_trigger({false, release, relaxed, true, acquire})),
        right("parity in snd, released", torn_trigger({true, relaxed, release, false, acquire})),
        wrong("parity, snd relaxed", {"check"}, "check",
              torn_trigger({true, relaxed, relaxed, false, acquire})),
        wrong("parity, poll relaxed", {"check"}, "check",
              torn_trigger({true, relaxed, release, false, relaxed}))}},
      {"2",
       "MSCCL++, dropped release",
       "PR#229, #499",
       {wrong("trigger relaxed", {"race"}, "check", dropped_release(relaxed)),
        right("trigger released", dropped_release(release)),
        wrong("ComP-Net's ring, its markers relaxed", {"race"}, "check",
              through_ring(status_relaxed()))}},
      {"3 and 5",
       "MSCCL++, NCCL GIN: clear, then credit",
       "MSCCL++ PR#30; NCCL: by our model",
       {wrong("credit relaxed", {"deadlock"}, "deadlock", clear_then_credit(relaxed)),
        right("credit released", clear_then_credit(release)),
        right("P also waits for an empty slot", clear_then_credit(relaxed, true)),
        wrong("ComP-Net's ring, credit relaxed", {"race"}, "deadlock",
              through_ring(credit_relaxed())),
        right("ComP-Net's ring as it is", through_ring({}))}},
      {"7",
       "NVSHMEM, a phase bit in every word",
       "the control",
       {right("everything relaxed", phase_in_every_word)}},
      {"18",
       "NCCL, idx, then nreqs",
       "#1983, PR#2393",
       {wrong("no fence", {"check"}, "check", idx_then_nreqs(false)),
        right("an acquire fence", idx_then_nreqs(true))}},
  };
}

} // namespace quarry_test

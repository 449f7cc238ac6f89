// SPDX-License-Identifier: Apache-2.0
// Queues of single elements, explored where the targets of `quarry explore` do not go: tickets that
// wrap, more slots than one, consumers that poll, and who tries instead of waiting.
#include "explored_passes.hpp"

#include <quarry/emu.hpp>
#include <quarry/yield.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <explore/delivery.hpp>
#include <string>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;
using quarry::exploration::delivery;
using quarry::exploration::parcel;

namespace {

/// Tickets of two bits.
using small_mpmc = mpmc_queue<parcel, 2>;

void send(world& w, small_mpmc& q, std::uint32_t first, std::uint32_t count) {
  w.start_task("sender of " + std::to_string(first),
               [&q, first, count](world_core& self) -> task<> {
                 for (std::uint32_t i = first; i < first + count; ++i) {
                   auto reserved = q.reserve(self);
                   slot_claim const mine = co_await std::move(reserved);
                   self.store(q.payload(mine), parcel::of(i));
                   q.publish(self, mine);
                 }
               });
}
enum class waits : std::uint8_t { by_peek, by_polling };
void receive(world& w, small_mpmc& q, std::uint32_t count, delivery& got, waits how) {
  w.start_task("receiver", [&q, &got, count, how](world_core& self) -> task<> {
    for (std::uint32_t i = 0; i < count; ++i) {
      slot_claim mine{};
      if (how == waits::by_peek) {
        auto peeked = q.peek(self);
        mine = co_await std::move(peeked);
      } else {
        mine = q.claim(self);
        auto const is_ready = [&] { return q.is_ready(self, mine); };
        poll_until ready(is_ready);
        co_await ready;
      }
      got.take(self.load(q.payload(mine)));
      q.release(self, mine);
    }
  });
}

} // namespace

TEST_SUITE("emu.explored_queues") {
  TEST_CASE("six elements of two senders through two slots, to two receivers") {
    for (waits const how : {waits::by_peek, waits::by_polling})
      passes(2'000, [how](world& w) {
        small_mpmc q(w.known(), 2, slot_orders{});
        delivery got(w, 6, false);
        for (std::uint32_t const first : {0U, 3U}) {
          send(w, q, first, 3);
          receive(w, q, 3, got, how);
        }
        w.join();
        got.end();
      });
  }

  TEST_CASE("more elements through one slot than there are tickets") {
    for (waits const how : {waits::by_peek, waits::by_polling})
      passes(2'000, [how](world& w) {
        small_mpmc q(w.known(), 1, slot_orders{});
        delivery got(w, 6, false);
        send(w, q, 0, 6);
        receive(w, q, 3, got, how);
        receive(w, q, 3, got, how);
        w.join();
        got.end();
      });
  }

  TEST_CASE("who tries again and again is served as who waits, and an empty queue gives nothing") {
    passes(2'000, [](world& w) {
      constexpr std::uint32_t count = 5;
      spsc_queue<parcel, 2> q(w.known(), 3, spsc_orders{}); // the indices go round
      delivery got(w, count, true);
      w.start_task("receiver", [&](world_core& self) -> task<> {
        for (std::uint32_t i = 0; i < count; ++i) {
          global<parcel> at;
          auto const is_there = [&] { return (at = q.try_peek(self)).get() != nullptr; };
          poll_until ready(is_there);
          co_await ready;
          got.take(self.load(at));
          q.release(self);
        }
        w.check(q.try_peek(self).get() == nullptr, "an element of an empty queue");
      });
      w.start_task("sender", [&](world_core& self) -> task<> {
        for (std::uint32_t i = 0; i < count; ++i) {
          global<parcel> at;
          auto const has_room = [&] { return (at = q.try_reserve(self)).get() != nullptr; };
          poll_until room(has_room);
          co_await room;
          self.store(at, parcel::of(i));
          q.publish(self);
        }
      });
      w.join();
      got.end();
    });
  }
}

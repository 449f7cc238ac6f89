// SPDX-License-Identifier: Apache-2.0
// AQL packets of several producers.
#include "exhibit.hpp"

#include <quarry/emu/user_queue.hpp>

using namespace quarry_test;
using namespace quarry::emu;

namespace {

/// How packets are handed over, and fetched.
struct aql {
  std::uint32_t producers;
  bool in_order;           ///< published only when all packets before it are
  order header_of_fetched; ///< relaxed: the two halves of the 64 bytes are not ordered
};

/// The rest of the packet, of which one word stands for all.
constexpr int header = 0, body = 7, packet_words = 8;
constexpr std::uint64_t old_body = 99;

/// Raises the doorbell to `to`; one that is higher stays.
void ring(world_core& self, global<std::uint64_t> doorbell, std::uint64_t to) {
  std::uint64_t seen = self.load(doorbell, order::relaxed, scope::system);
  while (seen < to)
    if (self.compare_exchange(doorbell, seen, to, order::acq_rel, scope::system))
      return;
}

void write_packet(world_core& self, global<std::uint64_t> packet, std::uint64_t content) {
  self.store(packet + body, content);
  self.store(packet + header, 1, order::release, scope::system);
}

/// ROCm: a producer advances write_index, writes its packet, the header last, and rings the
/// doorbell. The command processor fetches what lies below the doorbell, 64 bytes in two halves;
/// two loads with nothing between them, each as old as its last acquire. Another producer's
/// doorbell lets it fetch a packet that is being written: a valid header with the slot's old body.
/// Source   ROCm/rocm-systems PR#10367, #10377
case_world aql_ring(aql how) {
  return [how](world& w) {
    constexpr std::uint64_t packets = 2;
    auto ring_words = w.allocate<std::uint64_t>(packets * packet_words, "ring");
    for (std::uint64_t i = 0; i < packets; ++i)
      ring_words.host()[i * packet_words + body] = old_body;
    auto indices = w.allocate<std::uint64_t>(16, "write index and doorbell");
    auto const ring_at = ring_words.global();
    auto const write_index = indices.global(), doorbell = indices.global() + 8;
    auto const produce = [=](world_core& self) -> task<> {
      auto const i = self.fetch_add(write_index, 1, order::relaxed, scope::system);
      write_packet(self, ring_at + i * packet_words, i);
      if (how.in_order) { // the doorbell is the commit index
        auto turn = at_least(self, doorbell, i);
        static_cast<void>(co_await turn);
      }
      ring(self, doorbell, i + 1);
    };
    for (std::uint32_t p = 0; p < how.producers; ++p)
      w.start_task(p == 0 ? "producer 0" : "producer 1", [=, &produce](world_core& self) -> task<> {
        for (std::uint64_t n = 0; n < packets / how.producers; ++n) {
          task<> produced = produce(self);
          co_await std::move(produced);
        }
      });
    w.start_task("command processor", [=, &w](world_core& self) -> task<> {
      for (std::uint64_t i = 0; i < packets; ++i) {
        auto rung = at_least(self, doorbell, i + 1);
        static_cast<void>(co_await rung);
        auto const packet = ring_at + i * packet_words;
        auto is_valid = nonzero(self, packet + header, how.header_of_fetched);
        static_cast<void>(co_await is_valid);
        w.check(self.load(packet + body) == i, "a new header with an old body");
      }
    });
    w.join();
  };
}

/// The same two producers on Quarry's own user-mode queue: reserved and published apart.
case_world own_queue(order doorbell) {
  return [doorbell](world& w) {
    user_queue_orders orders;
    orders.ring_doorbell.how = doorbell;
    user_queue queue(w.known(), 2, orders);
    constexpr std::uint64_t packets = 2;
    for (std::uint64_t p = 0; p < packets; ++p)
      w.start_task(p == 0 ? "producer 0" : "producer 1", [&queue, p](world_core& self) {
        service_packet const sent{.arguments = {p, 0, 0, ~p}};
        return queue.submit(self, packet(sent));
      });
    w.start_task("command processor", [&](world_core& self) -> task<> {
      for (std::uint64_t i = 0; i < packets; ++i) {
        auto peeked = queue.peek(self);
        auto const p = self.load(co_await std::move(peeked)).as<service_packet>();
        w.check(p.arguments[3] == ~p.arguments[0], "a new header with an old body");
        queue.release(self);
      }
    });
    w.join();
  };
}

} // namespace

namespace quarry_test {

std::vector<exhibit> packet_exhibits() {
  auto const in_halves = order::relaxed, whole = order::acquire;
  return {{"8",
           "ROCm, AQL packets of several producers",
           "rocm-systems PR#10367, #10377",
           {wrong("two producers, no order of publication", {"race"}, "check",
                  aql_ring({2, false, in_halves})),
            right("published in order", aql_ring({2, true, in_halves})),
            right("one producer", aql_ring({1, false, in_halves})),
            right("fetched whole", aql_ring({2, false, whole})),
            wrong("Quarry's own queue, its doorbell relaxed", {"race"}, "check",
                  own_queue(order::relaxed)),
            right("Quarry's own queue", own_queue(order::release))}}};
}

} // namespace quarry_test

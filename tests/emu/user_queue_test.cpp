// SPDX-License-Identifier: Apache-2.0
#include "in_child.hpp"
#include "queue_traffic.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/emu/user_queue.hpp>

#include <stdexcept>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

/// A packet whose words must arrive together.
service_packet numbered(std::uint32_t producer, std::uint32_t number) {
  service_packet p;
  p.function = static_cast<std::uint16_t>(producer);
  p.arguments = {number, ~std::uint64_t{number}, 3 * std::uint64_t{number}, producer};
  return p;
}

template<class Q>
task<> produce(Q& q, allocations const& known, std::uint32_t producer, std::uint32_t count,
               bool tries) {
  actor& me = co_await quarry::this_actor();
  core self(context_of(me, known));
  for (std::uint32_t i = 0; i < count; ++i) {
    std::optional<packet_claim> mine;
    if (tries)
      mine = q.try_reserve(self);
    if (!mine) {
      task<packet_claim> reserved = q.reserve(self);
      mine = co_await std::move(reserved);
    }
    packet const p = numbered(producer, i);
    self.store(q.slot(*mine), p);
    if (tries && q.try_commit(self, *mine))
      continue;
    task<> committed = q.commit(self, *mine);
    co_await std::move(committed);
  }
}

template<class Q>
task<> process(Q& q, allocations const& known, std::uint32_t count,
               std::vector<std::uint32_t>& next, int& wrong) {
  actor& me = co_await quarry::this_actor();
  core self(context_of(me, known));
  for (std::uint32_t i = 0; i < count; ++i) {
    task<global<packet>> peeked = q.peek(self);
    global<packet> const at = co_await std::move(peeked);
    auto const p = self.load(at).template as<service_packet>();
    q.release(self);
    std::uint64_t const n = p.arguments[0];
    bool const is_whole = packet_header::of(p.header).type == packet_type::service &&
                          p.arguments[1] == ~n && p.arguments[2] == 3 * n &&
                          p.arguments[3] == p.function && p.function < next.size();
    wrong += is_whole && next[p.function]++ == n ? 0 : 1;
  }
}

template<int IndexBits>
void several_producers(std::uint32_t slots) {
  with_every_executor([&](executor& s, allocations& known) {
    basic_user_queue<IndexBits> q(known, slots);
    constexpr std::uint32_t producers = 3;
    std::uint32_t const count = s.decides() ? 20 : 4'000;
    std::vector<std::uint32_t> next(producers);
    int wrong = 0;
    traffic jobs(s);
    for (std::uint32_t p = 0; p < producers; ++p)
      jobs.start(produce(q, known, p, count, p == 1), "producer");
    jobs.start(process(q, known, producers * count, next, wrong), "processor");
    jobs.wait();
    REQUIRE(wrong == 0);
    for (std::uint32_t const n : next)
      REQUIRE(n == count);
  });
}

} // namespace

TEST_SUITE("emu.user_queue") {
  TEST_CASE("packets of several producers come whole, once, each producer's in order") {
    several_producers<64>(8);
  }
  TEST_CASE("indices may wrap: 3 bits, one slot, four, three producers") {
    several_producers<3>(1);
    several_producers<3>(4);
  }

  TEST_CASE("a full queue refuses a packet, and takes it when the processor has taken one") {
    allocations known;
    user_queue q(known, 2);
    basic_core<native_memory> const self({});
    for (std::uint32_t i = 0; i < 2; ++i) {
      auto const mine = q.try_reserve(self);
      REQUIRE(mine);
      packet const p = numbered(0, i);
      self.store(q.slot(*mine), p);
      CHECK(q.try_commit(self, *mine));
    }
    CHECK(!q.try_reserve(self));
    CHECK(!q.has_room(self));
    REQUIRE(q.is_ready(self));
    CHECK(self.load(q.next()).as<service_packet>().arguments[0] == 0);
    q.release(self);
    CHECK(q.has_room(self));
    CHECK(q.try_reserve(self));
  }

  TEST_CASE("a packet is not handed over before those that were reserved earlier") {
    allocations known;
    user_queue q(known, 4);
    basic_core<native_memory> const self({});
    auto const first = q.try_reserve(self);
    auto const second = q.try_reserve(self);
    CHECK(!q.try_commit(self, *second));
    CHECK(!q.is_ready(self));
    CHECK(q.try_commit(self, *first));
    CHECK(q.try_commit(self, *second));
    CHECK(q.is_ready(self));
  }

  TEST_CASE("a queue that has never been full is not called so, whatever is seen of its indices") {
    verdict const v = explore({.executions = 2'000, .keeps_failures = false}, [](world& w) {
      user_queue q(w.known(), 4);
      for (std::uint32_t p = 0; p < 2; ++p)
        w.start_task("producer", [&q, &w, p](world_core& self) -> task<> {
          auto const mine = q.try_reserve(self);
          w.check(mine.has_value(), "refused");
          self.store(q.slot(*mine), numbered(p, 0));
          task<> committed = q.commit(self, *mine);
          co_await std::move(committed);
        });
      w.start_task("processor", [&q](world_core& self) -> task<> {
        for (int i = 0; i < 2; ++i) {
          task<global<packet>> peeked = q.peek(self);
          static_cast<void>(self.load(co_await std::move(peeked)));
          q.release(self);
        }
      });
      w.join();
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("slot counts are refused by name") {
    allocations known;
    for (std::uint32_t const slots : {0U, 3U, 8U})
      CHECK_THROWS_AS((basic_user_queue<3>(known, slots)), std::invalid_argument);
    CHECK_THROWS_WITH((basic_user_queue<3>(known, 8)),
                      "user queue: 8 packets; allowed are powers of two below 2^3");
  }

  TEST_CASE("a queue that goes before its processor ends the process, and says so") {
    aborts(
        [] {
          sequential_scheduler scheduler;
          agent gpu(scheduler, {.compute_units = 1});
          std::optional<user_queue> queue(std::in_place, gpu.core().known(), 4);
          packet_processor const processor(gpu.core(), *queue);
          queue.reset();
        },
        "user queue is destroyed before its packet processor");
  }
}

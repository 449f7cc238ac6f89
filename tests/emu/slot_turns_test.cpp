// SPDX-License-Identifier: Apache-2.0
// Who may be in which slot: asked without waiting, step by step.
#include "lone_actor.hpp"
#include "queue_traffic.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

/// An actor that has got as far as its first wait that does not hold.
class waiter {
public:
  explicit waiter(task<> job) : job_(std::move(job)) {
    job_.start_on(self_);
    self_.resume();
  }
  /// Asks its poll again, and goes on if it says yes. True once all its waits are over.
  bool is_through() {
    while (self_.state == actor_state::polling && self_.poll(self_.poll_argument))
      self_.resume();
    return self_.state == actor_state::done;
  }

private:
  lone_actor self_;
  task<> job_;
};

template<int Bits>
task<> enter_as_producer(slot_turns<Bits>& turns, core& self, slot_claim c) {
  co_await turns.write_turn(self, c);
  co_await turns.empty(self, c);
}
template<int Bits>
task<> enter_as_consumer(slot_turns<Bits>& turns, core& self, slot_claim c) {
  co_await turns.read_turn(self, c);
  co_await turns.filled(self, c);
}

/// Rounds of one producer and one consumer through all slots, far beyond the tickets' range.
template<int Bits>
void wraps(std::uint32_t slots) {
  allocations known;
  core self({});
  slot_turns<Bits> turns(known, slots, {});
  CHECK(turns.slot_count() == slots);
  for (std::uint32_t n = 0; n < 100; ++n) {
    slot_claim const w = turns.claim_write(self);
    slot_claim const r = turns.claim_read(self);
    REQUIRE(w.slot == n % slots);
    REQUIRE(w.ticket == n / slots % (1U << Bits));
    REQUIRE(r.slot == w.slot);
    REQUIRE(r.ticket == w.ticket);
    waiter producer(enter_as_producer(turns, self, w));
    REQUIRE(producer.is_through());
    REQUIRE_FALSE(turns.is_filled_for(self, r));
    turns.set_full(self, w);
    REQUIRE(turns.is_filled_for(self, r));
    waiter consumer(enter_as_consumer(turns, self, r));
    REQUIRE(consumer.is_through());
    turns.set_empty(self, r);
    REQUIRE_FALSE(turns.is_filled_for(self, r));
  }
}

} // namespace

TEST_SUITE("emu.slot_turns") {
  TEST_CASE("claims go round the slots, tickets count the rounds and wrap") {
    wraps<1>(1);
    wraps<1>(2);
    wraps<2>(2);
    wraps<3>(8);
  }

  TEST_CASE("of several producers of a slot, each enters when its predecessor's element is taken") {
    allocations known;
    core self({});
    slot_turns<2> turns(known, 1, {});
    std::vector<slot_claim> claims;
    std::vector<std::unique_ptr<waiter>> producers;
    for (int i = 0; i < 4; ++i) { // as many as a ticket can tell apart
      claims.push_back(turns.claim_write(self));
      producers.push_back(std::make_unique<waiter>(enter_as_producer(turns, self, claims.back())));
    }
    for (std::size_t now = 0; now < 4; ++now) {
      CAPTURE(now);
      for (std::size_t i = 0; i < 4; ++i)
        CHECK(producers[i]->is_through() == (i <= now));
      turns.set_full(self, claims[now]);
      if (now + 1 < 4)
        CHECK_FALSE(producers[now + 1]->is_through());
      turns.set_empty(self, turns.claim_read(self));
    }
  }

  TEST_CASE("of several consumers of a slot, each takes its own element, in the order of claims") {
    allocations known;
    core self({});
    slot_turns<2> turns(known, 1, {});
    std::vector<slot_claim> claims;
    std::vector<std::unique_ptr<waiter>> consumers;
    for (int i = 0; i < 3; ++i) {
      claims.push_back(turns.claim_read(self));
      consumers.push_back(std::make_unique<waiter>(enter_as_consumer(turns, self, claims.back())));
    }
    for (std::size_t now = 0; now < 3; ++now) {
      CAPTURE(now);
      CHECK_FALSE(consumers[now]->is_through());
      turns.set_full(self, turns.claim_write(self));
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(consumers[i]->is_through() == (i <= now));
        CHECK(turns.is_filled_for(self, claims[i]) == (i == now));
      }
      turns.set_empty(self, claims[now]);
    }
  }

  TEST_CASE("slots do not wait for each other") {
    allocations known;
    core self({});
    slot_turns<3> turns(known, 4, {});
    std::array<slot_claim, 4> claims{};
    std::ranges::generate(claims, [&] { return turns.claim_write(self); });
    std::array<slot_claim, 4> readers{};
    std::ranges::generate(readers, [&] { return turns.claim_read(self); });
    for (std::size_t const i : {2U, 0U, 3U, 1U}) { // published in another order than claimed
      waiter producer(enter_as_producer(turns, self, claims[i]));
      CHECK(producer.is_through());
      CHECK_FALSE(turns.is_filled_for(self, readers[i]));
      turns.set_full(self, claims[i]);
      CHECK(turns.is_filled_for(self, readers[i]));
    }
  }

  TEST_CASE("the first n claims have been served when each of them has been, in whatever order") {
    for (std::uint32_t const slots : {1U, 2U, 4U}) {
      CAPTURE(slots);
      allocations known;
      core self({});
      slot_turns<2> turns(known, slots, {});
      CHECK(turns.have_been_served(self, 0));
      for (std::uint32_t round = 0; round < 9; ++round) { // tickets of two bits wrap
        std::uint32_t const before = turns.claimed_writes(self);
        std::vector<slot_claim> readers;
        for (std::uint32_t i = 0; i < slots; ++i) {
          CHECK_FALSE(turns.have_been_served(self, before + i + 1)); // nobody has begun it
          turns.set_full(self, turns.claim_write(self));
          readers.push_back(turns.claim_read(self));
        }
        if (round % 2 != 0)
          std::ranges::reverse(readers);
        std::vector<bool> is_served(slots);
        for (slot_claim const reader : readers) {
          auto const first_unserved = std::ranges::find(is_served, false) - is_served.begin();
          for (std::uint32_t n = 0; n <= slots; ++n)
            CHECK(turns.have_been_served(self, before + n) == (n <= first_unserved));
          turns.set_empty(self, reader);
          is_served[reader.slot] = true;
        }
        CHECK(turns.have_been_served(self, before + slots));
      }
    }
  }

  TEST_CASE("slot counts that the indices cannot go round in are refused") {
    allocations known;
    for (std::uint32_t const n : {0U, 3U, 6U, 16U, ~0U})
      CHECK_THROWS_AS(slot_turns<3>(known, n, {}), std::invalid_argument);
    CHECK_NOTHROW(slot_turns<3>(known, 8, {}));
    CHECK_NOTHROW(slot_turns<1>(known, 1, {}));
    CHECK_THROWS_WITH(slot_turns<1>(known, 4, {}),
                      "queue: 4 slots; allowed are powers of two up to 2^1");
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "queue_traffic.hpp"

#include <quarry/emu/mpmc_queue.hpp>

#include <stdexcept>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

template<class Q>
task<> produce(Q& q, allocations const& known, std::uint32_t first, std::uint32_t count) {
  actor& me = co_await quarry::this_actor();
  core self(context_of(me, known));
  for (std::uint32_t i = first; i < first + count; ++i) {
    task<slot_claim> reserved = q.reserve(self);
    slot_claim const mine = co_await std::move(reserved);
    self.store(q.payload(mine), parcel::of(i));
    q.publish(self, mine);
  }
}

/// What one consumer got, in its order.
template<class Q>
task<> consume(Q& q, allocations const& known, std::uint32_t count, std::vector<std::uint32_t>& got,
               int& torn) {
  actor& me = co_await quarry::this_actor();
  core self(context_of(me, known));
  for (std::uint32_t i = 0; i < count; ++i) {
    task<slot_claim> peeked = q.peek(self);
    slot_claim const mine = co_await std::move(peeked);
    parcel const p = self.load(q.payload(mine));
    torn += p.is_whole() ? 0 : 1;
    got.push_back(p.number);
    q.release(self, mine);
  }
}

/// Every element once and whole; in order if there is one producer and one consumer.
template<int IndexBits>
void every_element_once(std::uint32_t slots, std::uint32_t producers, std::uint32_t consumers) {
  with_every_executor([&](executor& s, allocations& known) {
    mpmc_queue<parcel, IndexBits> q(known, slots);
    std::uint32_t const each = (s.decides() ? 12 : 2000) * consumers;
    std::uint32_t const total = each * producers;
    std::vector<std::vector<std::uint32_t>> got(consumers);
    std::vector<int> torn(consumers);
    traffic jobs(s);
    for (std::uint32_t p = 0; p < producers; ++p)
      jobs.start(produce(q, known, p * each, each), "producer");
    for (std::uint32_t c = 0; c < consumers; ++c)
      jobs.start(consume(q, known, total / consumers, got[c], torn[c]), "consumer");
    jobs.wait();
    std::vector<int> seen(total);
    for (std::uint32_t c = 0; c < consumers; ++c) {
      REQUIRE(torn[c] == 0);
      std::uint32_t next = 0;
      for (std::uint32_t const n : got[c]) {
        REQUIRE(n < total);
        ++seen[n];
        if (producers == 1 && consumers == 1)
          REQUIRE(n == next++);
      }
    }
    for (int const n : seen)
      REQUIRE(n == 1);
  });
}

} // namespace

TEST_SUITE("emu.mpmc_queue") {
  TEST_CASE(
      "one producer and one consumer: in order, with tickets of 1 to 3 bits that wrap often") {
    every_element_once<1>(1, 1, 1);
    every_element_once<1>(2, 1, 1);
    every_element_once<2>(2, 1, 1);
    every_element_once<3>(8, 1, 1);
  }
  TEST_CASE("several producers and consumers: every element once and whole") {
    every_element_once<2>(2, 2, 2);
    every_element_once<2>(4, 3, 2);
    every_element_once<3>(2, 3, 3);
    every_element_once<32>(4, 2, 3);
  }

  TEST_CASE("a claim is ready when its element is there, not before, and not for another's") {
    allocations known;
    core self({});
    mpmc_queue<parcel, 2> q(known, 2);
    for (std::uint32_t round = 0; round < 9; ++round) {
      slot_claim const first = q.claim(self);
      slot_claim const second = q.claim(self);
      CHECK(first.slot != second.slot);
      CHECK_FALSE(q.is_ready(self, first));
      for (std::uint32_t i = 0; i < 2; ++i) {
        quarry::native_scheduler s({.threads = 1});
        traffic jobs(s);
        jobs.start(produce(q, known, 10 * round + i, 1), "producer");
        jobs.wait();
        CHECK(q.is_ready(self, first));
        CHECK(q.is_ready(self, second) == (i == 1));
      }
      slot_claim const third = q.claim(self); // of the first's slot, one turn later
      CHECK(third.slot == first.slot);
      CHECK_FALSE(q.is_ready(self, third));
      CHECK(self.load(q.payload(first)).number == 10 * round);
      q.release(self, first);
      q.release(self, second);
      CHECK_FALSE(q.is_ready(self, third));
      slot_claim const fourth = q.claim(self);
      quarry::native_scheduler s({.threads = 1});
      traffic jobs(s);
      jobs.start(produce(q, known, 7, 2), "producer");
      jobs.wait();
      CHECK(q.is_ready(self, third));
      q.release(self, third);
      q.release(self, fourth);
    }
  }

  TEST_CASE("slot counts that are no powers of two, or too many for the index, are refused") {
    allocations known;
    using tiny = mpmc_queue<parcel, 2>;
    for (std::uint32_t n : {0U, 3U, 8U, 1U << 31})
      CHECK_THROWS_WITH_AS(
          tiny(known, n),
          ("queue: " + std::to_string(n) + " slots; allowed are powers of two up to 2^2").c_str(),
          std::invalid_argument);
    CHECK_NOTHROW(tiny(known, 4));
    CHECK_NOTHROW(tiny(known, 1));
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "queue_traffic.hpp"

#include <stdexcept>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

template<class Q>
task<> produce(Q& q, allocations const& known, std::uint32_t count, bool tries) {
  actor& me = co_await quarry::this_actor();
  core self(context_of(me, known));
  for (std::uint32_t i = 0; i < count; ++i) {
    global<parcel> to = tries ? q.try_reserve(self) : global<parcel>();
    if (!to) {
      task<global<parcel>> slot = q.reserve(self);
      to = co_await std::move(slot);
    }
    self.store(to, parcel::of(i));
    q.publish(self);
  }
}

template<class Q>
task<> consume(Q& q, allocations const& known, std::uint32_t count, bool tries, int& wrong) {
  actor& me = co_await quarry::this_actor();
  core self(context_of(me, known));
  for (std::uint32_t i = 0; i < count; ++i) {
    global<parcel> from = tries ? q.try_peek(self) : global<parcel>();
    if (!from) {
      task<global<parcel>> slot = q.peek(self);
      from = co_await std::move(slot);
    }
    parcel const got = self.load(from);
    wrong += got.number == i && got.is_whole() ? 0 : 1;
    q.release(self);
  }
}

template<int IndexBits>
void in_order(std::uint32_t slots) {
  with_every_executor([&](executor& s, allocations& known) {
    spsc_queue<parcel, IndexBits> q(known, slots);
    std::uint32_t const count = s.decides() ? 60 : 20'000;
    for (bool tries : {false, true}) {
      int wrong = 0;
      traffic jobs(s);
      jobs.start(produce(q, known, count, tries), "producer");
      jobs.start(consume(q, known, count, tries, wrong), "consumer");
      jobs.wait();
      REQUIRE(wrong == 0);
    }
  });
}

/// A wavefront on the GPU hands elements to another one, through the same queue.
struct across_groups {
  task<> operator()(any_wavefront auto& wf, spsc_queue<parcel, 2>& q, int& wrong) const {
    for (std::uint32_t i = 0; i < 100; ++i) {
      if (wf.linear_group_id() == 0) {
        task<global<parcel>> slot = q.reserve(wf);
        auto const to = co_await std::move(slot);
        wf.store(to, parcel::of(i));
        q.publish(wf);
      } else {
        task<global<parcel>> slot = q.peek(wf);
        auto const from = co_await std::move(slot);
        parcel const got = wf.load(from);
        wrong += got.number == i && got.is_whole() ? 0 : 1;
        q.release(wf);
      }
    }
  }
};

} // namespace

TEST_SUITE("emu.spsc_queue") {
  TEST_CASE("elements come whole and in order, through many wraps of small queues") {
    in_order<1>(2);
    in_order<2>(3);
    in_order<3>(8);
    in_order<32>(5);
  }

  TEST_CASE("wavefronts are producers and consumers too") {
    with_every_agent([](agent& gpu) {
      spsc_queue<parcel, 2> q(gpu.core().known(), 4);
      int wrong = 0;
      succeed(gpu.run({.work_groups = 2, .work_items_per_group = 1}, across_groups{}, std::ref(q),
                      std::ref(wrong)));
      CHECK(wrong == 0);
    });
  }

  TEST_CASE("a full queue has slots - 1 elements; try_reserve and try_peek refuse when they must") {
    allocations known;
    core self({});
    spsc_queue<parcel, 2> q(known, 4);
    for (int round = 0; round < 9; ++round) {
      CHECK_FALSE(q.try_peek(self));
      for (std::uint32_t i = 0; i < 3; ++i) {
        auto const to = q.try_reserve(self);
        REQUIRE(to);
        self.store(to, parcel::of(i));
        q.publish(self);
      }
      CHECK_FALSE(q.try_reserve(self));
      for (std::uint32_t i = 0; i < 3; ++i) {
        auto const from = q.try_peek(self);
        REQUIRE(from);
        CHECK(self.load(from).number == i);
        q.release(self);
      }
    }
  }

  TEST_CASE(
      "a slot that is not reserved is not published, nor one released that was not peeked at") {
    allocations known;
    core self({});
    spsc_queue<parcel, 2> q(known, 4);
    auto const publish = [&] { q.publish(self); };
    auto const release = [&] { q.release(self); };
    CHECK_THROWS_WITH_AS(publish(),
                         "spsc_queue: somebody publishes a slot that it has not reserved",
                         std::logic_error);
    CHECK_THROWS_AS(release(), std::logic_error);
    self.store(q.try_reserve(self), parcel::of(7));
    publish();
    CHECK_THROWS_AS(publish(), std::logic_error);
    CHECK(self.load(q.try_peek(self)).number == 7);
    release();
    CHECK_THROWS_AS(release(), std::logic_error);
    CHECK_FALSE(q.try_peek(self)); // nothing was published twice, or released twice
  }

  TEST_CASE("impossible slot counts are refused") {
    allocations known;
    using tiny = spsc_queue<parcel, 2>;
    for (std::uint32_t n : {0U, 1U, 5U, 1000U})
      CHECK_THROWS_WITH_AS(
          tiny(known, n),
          ("spsc_queue: " + std::to_string(n) + " slots; allowed are 2 to 2^2").c_str(),
          std::invalid_argument);
    CHECK_NOTHROW(tiny(known, 4));
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "scheduler_contract.hpp"

#include <quarry/barrier.hpp>
#include <quarry/nursery.hpp>
#include <quarry/sync_wait.hpp>

#include <atomic>
#include <memory>
#include <stdexcept>

using namespace quarry;
using namespace quarry_test;

namespace {

constexpr int rounds = 200;
constexpr int members = 5;

task<> meet(barrier& b, std::atomic<int>& arrived, bool& ok) {
  for (int round = 1; round <= rounds; ++round) {
    ++arrived;
    co_await b.arrive_and_wait();
    int const now = arrived;
    // All of this round; the next one cannot be full without us.
    ok = ok && now >= round * members && now < (round + 1) * members;
  }
}

task<> alone(barrier& b) {
  for (int i = 0; i < 10; ++i)
    co_await b.arrive_and_wait();
}

} // namespace

TEST_SUITE("lib.barrier") {
  TEST_CASE("no round begins before all have ended the one before") {
    with_every_scheduler([](executor& s) {
      strand places[] = {{s, "a"}, {s, "b"}, {s, "c"}};
      barrier b(members);
      std::atomic<int> arrived{0};
      bool ok[members] = {true, true, true, true, true};
      nursery n;
      for (int i = 0; i < members; ++i)
        n.start(places[i % 3], meet(b, arrived, ok[i]), "member");
      n.wait(s);
      CHECK(arrived == rounds * members);
      for (bool one : ok)
        CHECK(one);
    });
  }

  TEST_CASE("the last to arrive does not suspend") {
    sequential_scheduler s;
    strand place(s, "place");
    barrier b(1);
    sync_wait(place, alone(b));
    CHECK(s.decision_count() == 1);
  }

  TEST_CASE("a barrier for nobody is refused") {
    CHECK_THROWS_AS(barrier(0), std::invalid_argument);
  }

  TEST_CASE("an arrival that is destroyed does not count") {
    sequential_scheduler s;
    barrier b(2);
    int passed = 0;
    auto const come = [](barrier& meeting, int& count) -> task<> {
      co_await meeting.arrive_and_wait();
      ++count;
    };
    auto gone = std::make_unique<strand>(s, "gone");
    gone->spawn(come(b, passed), "gone");
    CHECK_FALSE(s.run_until([] { return false; }));
    gone.reset();
    strand place(s, "place");
    place.spawn(come(b, passed), "first");
    CHECK_FALSE(s.run_until([] { return false; }));
    CHECK(passed == 0);
    place.spawn(come(b, passed), "second");
    CHECK_FALSE(s.run_until([] { return false; }));
    CHECK(passed == 2);
  }
}

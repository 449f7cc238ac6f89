// SPDX-License-Identifier: Apache-2.0
#include "in_child.hpp"
#include "scheduler_contract.hpp"

#include <quarry/event.hpp>
#include <quarry/nursery.hpp>
#include <quarry/semaphore.hpp>
#include <quarry/sync_wait.hpp>
#include <quarry/yield.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

using namespace quarry;
using namespace quarry_test;

namespace {

task<> alone_in(std::atomic<bool>& occupied, std::atomic<int>& overlaps, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    if (occupied.exchange(true))
      ++overlaps;
    for (int spin = 0; spin < 20; ++spin)
      asm volatile(""); // give an overlap time to happen
    occupied = false;
    co_await yield();
  }
}

/// Without a suspension: ends only if the other one runs at the same moment.
task<> meet_without_waiting(std::atomic<int>& here, int expected) {
  ++here;
  while (here < expected)
    std::this_thread::yield();
  co_return;
}

task<> take(semaphore& s, int count, std::atomic<int>& taken) {
  for (int i = 0; i < count; ++i) {
    co_await s.acquire();
    ++taken;
  }
}

task<> add_one(std::atomic<int>& sum) {
  ++sum;
  co_return;
}

task<> for_ever() {
  for (;;)
    co_await yield();
}

struct sets_on_death {
  explicit sets_on_death(event& to_set) : e(to_set) {}
  sets_on_death(sets_on_death const&) = delete;
  ~sets_on_death() { e.set(); }
  event& e;
};

task<> wait_and_set(event& awaited, event& set_at_end) {
  sets_on_death const at_end(set_at_end);
  co_await awaited.wait();
}

task<std::size_t> cancel_until(strand& place, void const* family, std::atomic<bool>& is_over) {
  std::size_t count = 0;
  do {
    count += place.cancel(family);
    co_await yield();
  } while (!is_over);
  co_return count;
}

/// A strand with work of its own beside its actors.
class working_strand final : public strand {
public:
  using strand::strand;
  ~working_strand() override { retire(); }
  turn drain() override {
    bool progressed = false;
    while (todo.load() != 0) {
      --todo;
      ++done;
      progressed = true;
    }
    turn t = strand::drain();
    t.progressed = t.progressed || progressed;
    return t;
  }
  std::atomic<int> todo{0};
  std::atomic<int> done{0};
};

} // namespace

TEST_SUITE("lib.strand") {
  TEST_CASE("actors of one strand never overlap") {
    native_scheduler s({.threads = 4});
    strand places[] = {{s, "a"}, {s, "b"}, {s, "c"}};
    std::atomic<bool> occupied[3] = {};
    std::atomic<int> overlaps{0};
    nursery n;
    for (int i = 0; i < 30; ++i)
      n.start(places[i % 3], alone_in(occupied[i % 3], overlaps, 300), "actor");
    n.wait(s);
    CHECK(overlaps == 0);
  }

  TEST_CASE("as many strands run at the same moment as there are threads") {
    for (std::size_t threads : {2U, 4U}) {
      CAPTURE(threads);
      native_scheduler s({.threads = threads});
      strand places[] = {{s, "a"}, {s, "b"}, {s, "c"}, {s, "d"}};
      std::atomic<int> here{0};
      nursery n;
      for (std::size_t i = 0; i < threads; ++i)
        n.start(places[i], meet_without_waiting(here, static_cast<int>(threads)), "actor");
      n.wait(s);
      CHECK(here == static_cast<int>(threads));
    }
  }

  TEST_CASE("wake-ups from threads that are no workers are not lost") {
    native_scheduler s({.threads = 2});
    strand place(s, "place");
    semaphore units(0);
    std::atomic<int> taken{0};
    constexpr int each = 5000;
    nursery n;
    for (int i = 0; i < 4; ++i)
      n.start(place, take(units, each, taken), "taker");
    auto const give = [&] {
      for (int i = 0; i < 2 * each; ++i)
        units.release();
    };
    std::thread first(give);
    std::thread second(give);
    n.wait(s);
    first.join();
    second.join();
    CHECK(taken == 4 * each);
  }

  TEST_CASE("ten thousand spawned actors all run and vanish") {
    with_every_scheduler([](executor& s) {
      strand place(s, "place");
      std::atomic<int> sum{0};
      for (int i = 0; i < 10'000; ++i)
        place.spawn(add_one(sum), "one of many");
      CHECK(s.run_until([&] { return sum == 10'000; }));
      CHECK(s.run_until([&] { return s.report_now().rows.empty(); }));
    });
  }

  TEST_CASE("actors may be spawned from several threads while the strand runs") {
    native_scheduler s({.threads = 2});
    strand place(s, "place");
    std::atomic<int> sum{0};
    auto const spawn = [&] {
      for (int i = 0; i < 2000; ++i)
        place.spawn(add_one(sum), "spawned");
    };
    std::thread first(spawn);
    std::thread second(spawn);
    CHECK(s.run_until([&] { return sum == 4000; }));
    first.join();
    second.join();
  }

  TEST_CASE("what is spawned while others of its family are cancelled runs, or is cancelled") {
    native_scheduler s({.threads = 2});
    strand place(s, "place");
    int family = 0;
    constexpr std::size_t count = 30'000;
    std::atomic<bool> is_over{false};
    std::atomic<int> begun{0};
    std::thread spawner([&] {
      for (std::size_t i = 0; i < count; ++i)
        place.spawn(add_one(begun), "one of a family", &family);
      is_over = true;
    });
    std::size_t cancelled = sync_wait(place, cancel_until(place, &family, is_over));
    spawner.join();
    cancelled += sync_wait(place, cancel_until(place, &family, is_over));
    CHECK(static_cast<std::size_t>(begun) + cancelled == count);
    CHECK(s.report_now().rows.empty());
  }

  TEST_CASE("a strand may die while it is queued, or run by a worker") {
    native_scheduler s({.threads = 4});
    for (int i = 0; i < 300; ++i) {
      std::atomic<int> sum{0};
      strand busy(s, "busy");
      strand brief(s, "brief");
      busy.spawn(for_ever(), "endless");
      brief.spawn(add_one(sum), "short");
      CHECK(s.run_until([&] { return sum == 1; }));
    }
  }

  TEST_CASE("an actor that destroys the strand on which it runs is told so") {
    auto const run_on = [](auto& scheduler) {
      auto place = std::make_unique<strand>(scheduler, "place");
      auto const ends_it = [&place]() -> task<> {
        place.reset();
        co_return;
      };
      place->spawn(ends_it(), "ends it");
      static_cast<void>(scheduler.run_until([&] { return place == nullptr; }));
    };
    std::string const said = "strand \"place\" is destroyed by an actor that runs on it";
    aborts(
        [&] {
          sequential_scheduler s;
          run_on(s);
        },
        said);
    aborts(
        [&] {
          native_scheduler s({.threads = 1}); // see in_child()
          run_on(s);
        },
        said);
  }

  TEST_CASE("actors that die with their strand may wake each other on the way") {
    with_every_scheduler(
        [](executor& s) {
          event first;
          event second;
          {
            strand place(s, "place");
            place.spawn(wait_and_set(first, second), "a");
            place.spawn(wait_and_set(second, first), "b");
            CHECK_FALSE(s.run_until([] { return false; }));
            CHECK(s.report_now().rows.size() == 2);
          }
          CHECK(s.report_now().rows.empty());
          CHECK_FALSE(s.run_until([] { return false; }));
        },
        std::chrono::milliseconds(20));
  }

  TEST_CASE("whom an actor has woken goes on before it does, when it gives way") {
    native_scheduler s({.threads = 1});
    strand place(s, "place");
    event woken;
    std::string order;
    int left = 2;
    place.spawn(
        [](event& e, std::string& o, int& l) -> task<> {
          co_await e.wait();
          o += "sleeper ";
          --l;
        }(woken, order, left),
        "sleeper");
    place.spawn(
        [](event& e, std::string& o, int& l) -> task<> {
          e.set();
          co_await yield();
          o += "waker ";
          --l;
        }(woken, order, left),
        "waker");
    REQUIRE(s.run_until([&] { return left == 0; }));
    CHECK(order == "sleeper waker ");
  }

  TEST_CASE("a posted strand gets a turn after the post, whatever it is doing") {
    native_scheduler s({.threads = 2});
    working_strand place(s, "place");
    constexpr int count = 20'000;
    for (int i = 0; i < count; ++i) {
      ++place.todo;
      s.post(place,
             i % 2 == 0 ? native_scheduler::wake_workers::yes : native_scheduler::wake_workers::no);
      if (i % 100 == 0) {
        REQUIRE(s.run_until([&] { return place.todo == 0; }));
      }
    }
    CHECK(s.run_until([&] { return place.done == count; }));
  }
}

// SPDX-License-Identifier: Apache-2.0
#include <quarry/event.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/nursery.hpp>
#include <quarry/sync_wait.hpp>
#include <quarry/yield.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <ctime>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

using namespace quarry;
using std::chrono::milliseconds;

namespace {

task<> poll(std::atomic<bool>& flag) {
  co_await poll_until([&flag] { return flag.load(); });
}

void run_for(milliseconds time) {
  auto const end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// Whoever asks it on the thread `busy` takes long.
struct slow_poll {
  std::thread::id busy;
  std::atomic<bool> was_asked{false};
  std::atomic<bool> says_yes{false};

  bool operator()() {
    if (std::this_thread::get_id() == busy) {
      run_for(milliseconds(20));
      was_asked = true;
    }
    return says_yes;
  }
};

task<> poll_and_count(int& asked, int enough) {
  auto const is_enough = [&] { return ++asked >= enough; };
  poll_until wait(is_enough);
  co_await wait;
}

task<> poll_slowly(slow_poll& slow) {
  poll_until wait(std::ref(slow));
  co_await wait;
}

task<> run_for(int yields) {
  for (int i = 0; i < yields; ++i)
    co_await yield();
}

task<> take_long(std::atomic<int>& stage) {
  stage = 1;
  run_for(milliseconds(300));
  stage = 2;
  co_return;
}

task<> set(std::atomic<bool>& flag) {
  flag = true;
  co_return;
}

/// Works for so long, with suspensions.
task<int> work_for(milliseconds time) {
  auto const end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end)
    co_await yield();
  co_return 1;
}

task<> wait_for_other(strand& other, milliseconds works, std::atomic<int>& got) {
  got = sync_wait(other, work_for(works));
  co_return;
}

task<> wait_inside(executor& s, std::atomic<int>& given_up) {
  auto const latest = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  if (!s.run_until([latest] { return std::chrono::steady_clock::now() > latest; }))
    ++given_up;
  co_return;
}

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

} // namespace

TEST_SUITE("lib.native_scheduler") {
  TEST_CASE("settings that make no sense are refused by name") {
    CHECK_THROWS_WITH_AS(native_scheduler({.threads = 5000}),
                         "native_scheduler: 5000 threads asked for, at most 1024",
                         std::invalid_argument);
    CHECK_THROWS_AS(native_scheduler({.threads = 1, .stall_timeout = milliseconds(0)}),
                    std::invalid_argument);
    CHECK(native_scheduler().thread_count() == usable_threads());
  }

  TEST_CASE("failed polls are no progress: run_until gives up after the stall timeout") {
    native_scheduler s({.threads = 2, .stall_timeout = milliseconds(50)});
    strand place(s, "place");
    std::atomic<bool> flag{false};
    place.spawn(poll(flag), "poller");
    CHECK_FALSE(s.run_until([] { return false; }));
    CHECK(s.report_now().rows.size() == 1);
    flag = true;
    CHECK(s.run_until([&] { return s.report_now().rows.empty(); }));
  }

  TEST_CASE("a slice that takes longer than the stall timeout is no stall") {
    native_scheduler s({.threads = 2, .stall_timeout = milliseconds(50)});
    strand place(s, "place");
    std::atomic<int> stage{0};
    place.spawn(take_long(stage), "long");
    auto const latest = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (stage == 0 && std::chrono::steady_clock::now() < latest)
      std::this_thread::yield(); // a worker takes it, not this thread
    CHECK(s.run_until([&] { return stage == 2; }));
    CHECK_FALSE(s.run_until([] { return false; }));
  }

  TEST_CASE("a scheduler has its threads although all of another one's poll") {
    native_scheduler one({.threads = 0, .stall_timeout = std::chrono::seconds(10)});
    native_scheduler other({.threads = 0});
    std::atomic<bool> flag{false};
    std::deque<strand> pollers;
    nursery polls;
    for (std::size_t i = 0; i < one.thread_count(); ++i)
      polls.start(pollers.emplace_back(one, "polls"), poll(flag), "polls");
    strand place(other, "sets");
    place.spawn(set(flag), "sets");
    CHECK_NOTHROW(polls.wait(one));
    CHECK(flag);
  }

  TEST_CASE("an actor that waits for another scheduler is in the middle of its turn") {
    native_scheduler one({.threads = 2, .stall_timeout = milliseconds(100)});
    native_scheduler other({.threads = 2});
    strand place(one, "place");
    strand works(other, "works");
    std::atomic<int> got{0};
    place.spawn(wait_for_other(works, milliseconds(500), got), "waits");
    std::thread second([&] { static_cast<void>(one.run_until([&] { return got == 1; })); });
    CHECK(one.run_until([&] { return got == 1; }));
    second.join();
    CHECK(got == 1);
  }

  TEST_CASE("actors that wait in run_until do not keep each other from giving up") {
    for (std::size_t threads : {1U, 2U}) {
      CAPTURE(threads);
      native_scheduler s({.threads = threads, .stall_timeout = milliseconds(50)});
      strand a(s, "a");
      strand b(s, "b");
      std::atomic<int> given_up{0};
      a.spawn(wait_inside(s, given_up), "a");
      b.spawn(wait_inside(s, given_up), "b");
      auto const latest = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (given_up != 2 && std::chrono::steady_clock::now() < latest)
        static_cast<void>(s.run_until([&] { return given_up == 2; }));
      CHECK(given_up == 2);
    }
  }

  TEST_CASE("idle threads sleep, with somebody polling as without") {
    for (bool with_poller : {false, true}) {
      CAPTURE(with_poller);
      native_scheduler s({.threads = 2, .stall_timeout = milliseconds(300)});
      strand place(s, "place");
      std::atomic<bool> flag{false};
      if (with_poller)
        place.spawn(poll(flag), "poller");
      double const before = cpu_seconds();
      CHECK_FALSE(s.run_until([] { return false; }));
      CHECK(cpu_seconds() - before < 0.15); // two that spin would take 0.6
      flag = true;
      CHECK(s.run_until([&] { return s.report_now().rows.empty(); }));
    }
  }

  TEST_CASE("the idle wait is called while nothing can be done, and not after it was cleared") {
    native_scheduler s({.threads = 4});
    strand place(s, "place");
    for (int i = 0; i < 30; ++i) {
      auto calls = std::make_unique<std::atomic<int>>(0);
      auto inside = std::make_unique<std::atomic<int>>(0);
      std::atomic<bool> two_at_once{false};
      s.set_idle_wait([c = calls.get(), in = inside.get(), &two_at_once](std::chrono::nanoseconds) {
        if (++*in != 1)
          two_at_once = true;
        ++*c;
        --*in;
        return false;
      });
      place.spawn(run_for(10), "work");
      CHECK(s.run_until([&] { return *calls >= 3; }));
      s.set_idle_wait(nullptr);
      calls.reset(); // a call from now on would be a use after free
      inside.reset();
      CHECK_FALSE(two_at_once);
      sync_wait(place, run_for(100));
    }
  }

  TEST_CASE("a thread sleeps when it has looked at all strands, and not between two of them") {
    constexpr int strands = 2'000, rounds = 5;
    native_scheduler s({.threads = 1});
    int slept = 0, asked = 0;
    s.set_idle_wait([&](std::chrono::nanoseconds) {
      ++slept;
      return false;
    });
    std::deque<strand> places;
    for (int i = 0; i < strands; ++i)
      places.emplace_back(s, "place").spawn(poll_and_count(asked, rounds * strands), "poller");
    CHECK(s.run_until([&] { return s.report_now().rows.empty(); }));
    CHECK(asked >= rounds * strands);
    CHECK(slept <= 2 * rounds);
    s.set_idle_wait(nullptr);
  }

  TEST_CASE("notify wakes a thread in run_until to look again") {
    native_scheduler s({.threads = 1});
    for (int i = 0; i < 100; ++i) {
      std::atomic<bool> flag{false};
      std::thread other([&] {
        flag = true;
        s.notify();
      });
      CHECK(s.run_until([&] { return flag.load(); }));
      other.join();
    }
  }

  TEST_CASE("schedulers come and go, with workers still on their way") {
    for (int i = 0; i < 300; ++i) {
      native_scheduler s({.threads = 4});
      strand a(s, "a");
      strand b(s, "b");
      nursery n;
      n.start(a, run_for(i), "a");
      n.start(b, run_for(i / 2), "b");
      n.wait(s);
    }
  }

  TEST_CASE("workers run strands although nobody is in run_until") {
    native_scheduler s({.threads = 2});
    strand place(s, "place");
    std::atomic<bool> flag{false};
    auto const set = [](std::atomic<bool>& f) -> task<> {
      f = true;
      co_return;
    };
    for (int i = 0; i < 200; ++i) {
      flag = false;
      place.spawn(set(flag), "setter");
      while (!flag)
        std::this_thread::yield();
    }
    CHECK(flag);
  }

  TEST_CASE("a strand that run_until leaves in the queue has a worker") {
    for (int i = 0; i < 20; ++i) {
      native_scheduler s({.threads = 2});
      slow_poll slow{.busy = std::this_thread::get_id()};
      strand place(s, "place");
      place.spawn(poll_slowly(slow), "poller");
      // While this thread holds the only strand, the worker finds an empty queue, and leaves.
      CHECK(s.run_until([&] { return slow.was_asked.load(); }));
      slow.says_yes = true;
      auto const latest = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (!s.report_now().rows.empty() && std::chrono::steady_clock::now() < latest)
        std::this_thread::yield();
      REQUIRE(s.report_now().rows.empty());
    }
  }

  TEST_CASE("what a predicate throws leaves the turn as it was, and the strands to workers") {
    native_scheduler s({.threads = 2});
    strand place(s, "place");
    strand const* turn = nullptr;
    auto const wait_in_vain = [](native_scheduler& of, strand const*& now) -> task<> {
      CHECK_THROWS_AS(static_cast<void>(of.run_until([]() -> bool { throw 1; })), int);
      now = of.turn();
      co_return;
    };
    sync_wait(place, wait_in_vain(s, turn));
    CHECK(turn == &place);

    std::promise<void> done;
    auto const yield_and_tell = [](std::promise<void>& told) -> task<> {
      for (int i = 0; i < 10'000; ++i)
        co_await yield();
      told.set_value();
    };
    {
      native_scheduler::runs_itself const alone(s);
      place.spawn(yield_and_tell(done), "yielder");
    }
    int asked = 0;
    CHECK_THROWS_AS(static_cast<void>(s.run_until([&asked]() -> bool {
                      if (++asked == 3)
                        throw 1;
                      return false;
                    })),
                    int);
    CHECK(done.get_future().wait_for(std::chrono::seconds(10)) == std::future_status::ready);
    static_cast<void>(s.run_until([&] { return s.report_now().rows.empty(); }));
  }

  TEST_CASE("who runs one scheduler's actors itself wakes those of others") {
    native_scheduler s({.threads = 2}), other({.threads = 2});
    strand place(other, "place");
    std::promise<void> done;
    auto const tell = [](std::promise<void>& told) -> task<> {
      told.set_value();
      co_return;
    };
    native_scheduler::runs_itself const alone(s);
    place.spawn(tell(done), "teller");
    CHECK(done.get_future().wait_for(std::chrono::seconds(10)) == std::future_status::ready);
    static_cast<void>(other.run_until([&] { return other.report_now().rows.empty(); }));
  }

  TEST_CASE("the longest stall timeout there is never comes") {
    native_scheduler s({.threads = 1, .stall_timeout = milliseconds::max()});
    auto const end = std::chrono::steady_clock::now() + milliseconds(30);
    CHECK(s.run_until([end] { return std::chrono::steady_clock::now() > end; }));
  }
}

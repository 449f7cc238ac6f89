// SPDX-License-Identifier: Apache-2.0
#include "scheduler_contract.hpp"

#include <quarry/exhaustive.hpp>
#include <quarry/mutex.hpp>
#include <quarry/nursery.hpp>
#include <quarry/yield.hpp>

#include <cstdint>
#include <memory>
#include <vector>

using namespace quarry;
using namespace quarry_test;

namespace {

/// Takes it, if it can, and gives it back.
bool is_free(mutex& m) {
  auto const held = m.try_lock();
  return static_cast<bool>(held);
}

task<> count(quarry::mutex& m, long& counter, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    auto const guard = co_await m.lock();
    long const before = counter;
    if (i % 4 == 0)
      co_await yield(); // held across a suspension
    counter = before + 1;
  }
}

task<> line_up(quarry::mutex& m, std::vector<int>& order, int me) {
  auto guard = co_await m.lock();
  order.push_back(me);
  co_await yield();
  guard.unlock();
  guard.unlock(); // nothing
}

task<> lock_at_once(quarry::mutex& first, quarry::mutex& second, bool& has_ended) {
  auto const one = co_await first.lock();
  auto const other = co_await second.lock();
  has_ended = true;
}

task<> lock_both(quarry::mutex& first, quarry::mutex& second) {
  auto const one = co_await first.lock();
  co_await yield();
  co_await yield();
  auto const other = co_await second.lock();
}

} // namespace

TEST_SUITE("lib.mutex") {
  TEST_CASE("increments under the lock are not lost, across strands and suspensions") {
    with_every_scheduler([](executor& s) {
      strand places[] = {{s, "a"}, {s, "b"}, {s, "c"}};
      quarry::mutex m;
      long counter = 0;
      nursery n;
      for (int i = 0; i < 6; ++i)
        n.start(places[i % 3], count(m, counter, 300), "counter");
      n.wait(s);
      CHECK(counter == 1800);
      CHECK(is_free(m));
    });
  }

  TEST_CASE("it is handed over in the order in which the actors came") {
    for (int kind = 0; kind < 2; ++kind) {
      native_scheduler native({.threads = 1});
      sequential_scheduler sequential;
      executor& s = kind == 0 ? static_cast<executor&>(native) : sequential;
      strand place(s, "place");
      quarry::mutex m;
      std::vector<int> order;
      nursery n;
      for (int i = 0; i < 5; ++i)
        n.start(place, line_up(m, order, i), "actor");
      n.wait(s);
      CHECK(order == std::vector{0, 1, 2, 3, 4});
    }
  }

  TEST_CASE("try_lock gives an empty guard while the mutex is held") {
    quarry::mutex m;
    {
      auto const held = m.try_lock();
      CHECK(static_cast<bool>(held));
      CHECK_FALSE(is_free(m));
    }
    CHECK(is_free(m));
  }

  TEST_CASE("a mutex that was granted to an actor which is destroyed goes to the next") {
    sequential_scheduler s;
    quarry::mutex m;
    std::vector<int> order;
    auto held = m.try_lock();
    auto gone = std::make_unique<strand>(s, "gone");
    strand place(s, "place");
    gone->spawn(line_up(m, order, 1), "gone");
    CHECK_FALSE(s.run_until([] { return false; }));
    place.spawn(line_up(m, order, 2), "next");
    CHECK_FALSE(s.run_until([] { return false; }));
    held.unlock();
    gone.reset();
    CHECK_FALSE(s.run_until([] { return false; }));
    CHECK(order == std::vector{2});
    CHECK(is_free(m));
  }

  TEST_CASE("a mutex may go before an actor to which it was granted") {
    sequential_scheduler s;
    std::vector<int> order;
    strand place(s, "place");
    auto m = std::make_unique<quarry::mutex>();
    auto held = m->try_lock();
    place.spawn(line_up(*m, order, 1), "late");
    CHECK_FALSE(s.run_until([] { return false; }));
    held.unlock();
    m.reset();
  }

  TEST_CASE("two actors that lock two mutexes crosswise are named as a cycle") {
    native_scheduler native({.threads = 1, .stall_timeout = std::chrono::milliseconds(30)});
    sequential_scheduler sequential;
    for (executor* s : {static_cast<executor*>(&native), static_cast<executor*>(&sequential)}) {
      quarry::mutex first; // outlive the frames that hold them
      quarry::mutex second;
      strand place(*s, "place");
      place.spawn(lock_both(first, second), "left");
      place.spawn(lock_both(second, first), "right");
      CHECK_FALSE(s->run_until([] { return false; }));
      std::string const text = s->report_now().to_string();
      CAPTURE(text);
      CHECK(text.find("cycle: left -> right -> left\n") != std::string::npos);
      CHECK(text.find("mutex at mutex_test.cpp:") != std::string::npos);
    }
  }

  TEST_CASE("whoever has locked one may be pre-empted before it locks another") {
    quarry::exhaustive_search search;
    quarry::sequential_scheduler s;
    int deadlocks = 0;
    do {
      search.begin();
      s.begin(search);
      quarry::mutex first; // outlive the frames that hold them
      quarry::mutex second;
      bool has_ended[2]{};
      strand place(s, "place");
      place.spawn(lock_at_once(first, second, has_ended[0]), "left");
      place.spawn(lock_at_once(second, first, has_ended[1]), "right");
      deadlocks += s.run_until([&] { return has_ended[0] && has_ended[1]; }) ? 0 : 1;
    } while (search.next());
    CHECK(deadlocks != 0);
    CHECK(static_cast<std::uint64_t>(deadlocks) < search.execution_count());
  }

  TEST_CASE("whoever is given up there lets go of it") {
    sequential_scheduler s;
    quarry::mutex m;
    bool has_ended = false;
    {
      strand place(s, "place");
      place.spawn(lock_at_once(m, m, has_ended), "one");
      CHECK(s.run_until([&] { return !is_free(m); })); // it stands between its two locks
    }
    CHECK(is_free(m));
  }

  TEST_CASE("an actor that locks twice is a cycle of its own") {
    sequential_scheduler s;
    quarry::mutex m;
    strand place(s, "place");
    place.spawn(lock_both(m, m), "twice");
    CHECK_FALSE(s.run_until([] { return false; }));
    CHECK(s.report_now().to_string().find("cycle: twice -> twice\n") != std::string::npos);
  }
}

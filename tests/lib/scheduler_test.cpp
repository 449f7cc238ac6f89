// SPDX-License-Identifier: Apache-2.0
#include "scheduler_contract.hpp"

#include <quarry/event.hpp>
#include <quarry/yield.hpp>

#include <atomic>
#include <string>
#include <thread>

using namespace quarry;
using namespace quarry_test;

namespace {

task<> set_after(std::atomic<int>& flag, int yields, int value) {
  for (int i = 0; i < yields; ++i)
    co_await yield();
  flag = value;
}

task<> note_turn(executor const& s, std::atomic<strand const*>& whose) {
  co_await yield();
  whose = s.turn();
}

std::atomic<int> wait_line{0};
std::atomic<int> poll_line{0};

task<> wait_here(event& e) {
  wait_line = __LINE__ + 1;
  co_await e.wait();
}

task<> poll_here(std::atomic<int>& flag) {
  poll_line = __LINE__ + 1;
  co_await poll_until([&flag] { return flag == 77; });
}

} // namespace

TEST_SUITE("lib.scheduler") {
  TEST_CASE("run_until runs actors until the predicate holds, not longer") {
    with_every_scheduler([](executor& s) {
      strand place(s, "place");
      std::atomic<int> flag{0};
      place.spawn(set_after(flag, 100, 1), "setter");
      CHECK(s.run_until([&] { return flag == 1; }));
      bool asked = false;
      CHECK(s.run_until([&] { return asked = true; }));
      CHECK(asked);
    });
  }

  TEST_CASE("whose turn it is can be asked from within, and is nobody's outside") {
    with_every_scheduler([](executor& s) {
      strand a(s, "a"), b(s, "b");
      std::atomic<strand const*> in_a{nullptr}, in_b{nullptr};
      a.spawn(note_turn(s, in_a), "of a");
      b.spawn(note_turn(s, in_b), "of b");
      CHECK(s.run_until([&] { return in_a != nullptr && in_b != nullptr; }));
      CHECK(in_a == &a);
      CHECK(in_b == &b);
      CHECK(s.turn() == nullptr);
    });
  }

  TEST_CASE("a deadlock is a result: the report names each actor and the line where it waits") {
    with_every_scheduler(
        [](executor& s) {
          strand a(s, "strand a");
          strand b(s, "strand b");
          event e;
          std::atomic<int> flag{0};
          a.spawn(wait_here(e), "waiter");
          b.spawn(poll_here(flag), "poller");
          CHECK_FALSE(s.run_until([&] { return flag == 1; }));
          report const table = s.report_now();
          std::string const text = table.to_string();
          CAPTURE(text);
          REQUIRE(table.rows.size() == 2);
          CHECK(table.rows[0].strand == "strand a");
          CHECK(table.rows[0].actor == "waiter");
          CHECK(table.rows[0].state == actor_state::waiting);
          CHECK(table.rows[0].reason.on == &e);
          CHECK(text.find("event at scheduler_test.cpp:" + std::to_string(wait_line)) !=
                std::string::npos);
          CHECK(table.rows[1].state == actor_state::polling);
          CHECK(text.find("poll_until at scheduler_test.cpp:" + std::to_string(poll_line)) !=
                std::string::npos);
          // And it is not final: what comes from outside is taken up.
          e.set();
          flag = 77;
          CHECK(s.run_until([&] { return s.report_now().rows.empty(); }));
        },
        std::chrono::milliseconds(20));
  }

  TEST_CASE("reports may be made by another thread while actors run") {
    with_every_scheduler([](executor& s) {
      std::atomic<int> flag{0}; // first, so last to go: one of the last two actors may still run
      strand a(s, "a");
      strand b(s, "b");
      std::atomic<bool> is_over{false};
      std::atomic<std::size_t> rows{0};
      std::thread reporter([&] {
        while (!is_over)
          rows += s.report_now().rows.size();
      });
      for (int i = 0; i < 10 || rows == 0; ++i) {
        flag = 0;
        a.spawn(set_after(flag, 2000, 1), "first");
        b.spawn(set_after(flag, 2000, 1), "second");
        CHECK(s.run_until([&] { return flag == 1; }));
      }
      is_over = true;
      reporter.join();
      CHECK(rows > 0);
    });
  }
}

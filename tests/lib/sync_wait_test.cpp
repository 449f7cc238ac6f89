// SPDX-License-Identifier: Apache-2.0
#include "scheduler_contract.hpp"

#include <quarry/event.hpp>
#include <quarry/sync_wait.hpp>

#include <memory>
#include <stdexcept>
#include <thread>

using namespace quarry;
using namespace quarry_test;

namespace {

task<std::unique_ptr<int>> box(int n) {
  co_return std::make_unique<int>(n);
}

task<int> fail() {
  throw std::out_of_range("too far");
  co_return 0;
}

task<int> wait_on(event& e) {
  co_await e.wait();
  co_return 1;
}

task<int> deep(int depth) {
  int below = 0;
  if (depth > 0)
    below = co_await deep(depth - 1);
  co_return below + 1;
}

} // namespace

TEST_SUITE("lib.sync_wait") {
  TEST_CASE("returns what the task returns, throws what it throws") {
    with_every_scheduler([](executor& s) {
      strand place(s, "place");
      CHECK(*sync_wait(place, box(5)) == 5);
      CHECK_THROWS_WITH_AS(sync_wait(place, fail()), "too far", std::out_of_range);
      CHECK(sync_wait(place, deep(20'000)) == 20'001);
    });
  }

  TEST_CASE("throws the report if the task cannot end, and stays sound if it ends later") {
    with_every_scheduler(
        [](executor& s) {
          strand place(s, "the strand");
          event e;
          std::string text;
          try {
            sync_wait(place, wait_on(e), "the waiter");
          } catch (std::runtime_error const& error) {
            text = error.what();
          }
          CAPTURE(text);
          CHECK(text.find("the strand") != std::string::npos);
          CHECK(text.find("the waiter") != std::string::npos);
          e.set();
          CHECK_FALSE(s.run_until([] { return false; }));
        },
        std::chrono::milliseconds(20));
  }

  TEST_CASE("several host threads wait at the same time") {
    native_scheduler s({.threads = 2});
    strand a(s, "a");
    strand b(s, "b");
    std::thread other([&] {
      for (int i = 0; i < 500; ++i)
        static_cast<void>(sync_wait(a, deep(i % 7)));
    });
    for (int i = 0; i < 500; ++i)
      static_cast<void>(sync_wait(b, deep(i % 5)));
    other.join();
    CHECK(sync_wait(a, deep(3)) == 4);
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "scheduler_contract.hpp"

#include <quarry/event.hpp>
#include <quarry/sync_wait.hpp>
#include <quarry/when_all.hpp>
#include <quarry/yield.hpp>

#include <memory>
#include <stdexcept>
#include <string>

using namespace quarry;
using namespace quarry_test;

namespace {

task<int> number(int n) {
  co_await yield();
  co_return n;
}

task<std::unique_ptr<int>> boxed(int n) {
  co_return std::make_unique<int>(n);
}

task<> nothing(event& e) {
  e.set();
  co_return;
}

task<std::string> after(event& e) {
  co_await e.wait();
  co_return "done";
}

task<int> fail() {
  throw std::runtime_error("no number");
  co_return 0;
}

task<int> together() {
  event e;
  auto [text, n, none, box] = co_await when_all(after(e), number(2), nothing(e), boxed(3));
  static_assert(std::is_same_v<decltype(none), std::monostate>);
  co_return static_cast<int>(text.size()) * 100 + n * 10 + *box;
}

task<int> sum(int count) {
  std::vector<task<int>> tasks;
  for (int i = 0; i < count; ++i)
    tasks.push_back(number(i));
  auto const values = co_await when_all(std::move(tasks));
  int total = 0;
  for (int v : values)
    total += v;
  co_return total;
}

task<bool> fails_after_all(int& ended) {
  auto const slow = [](int& e) -> task<int> {
    for (int i = 0; i < 5; ++i)
      co_await yield();
    ++e;
    co_return 1;
  };
  try {
    co_await when_all(fail(), slow(ended));
  } catch (std::runtime_error const&) {
    co_return ended == 1;
  }
  co_return false;
}

} // namespace

TEST_SUITE("lib.when_all") {
  TEST_CASE("tasks of different types run side by side and return a tuple") {
    with_every_scheduler([](executor& s) {
      strand place(s, "place");
      CHECK(sync_wait(place, together()) == 423);
    });
  }

  TEST_CASE("a vector of tasks returns a vector of results, an empty one too") {
    with_every_scheduler([](executor& s) {
      strand place(s, "place");
      CHECK(sync_wait(place, sum(100)) == 4950);
      CHECK(sync_wait(place, sum(0)) == 0);
    });
  }

  TEST_CASE("an exception comes out after the others have ended") {
    with_every_scheduler([](executor& s) {
      strand place(s, "place");
      int ended = 0;
      CHECK(sync_wait(place, fails_after_all(ended)));
    });
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "in_child.hpp"

#include <quarry/misuse.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/sequential_scheduler.hpp>
#include <quarry/strand.hpp>
#include <quarry/sync_wait.hpp>
#include <quarry/task.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <source_location>
#include <utility>

using namespace quarry;
using quarry_test::aborts;

namespace {

task<int> one() {
  co_return 1;
}
task<int> await_what_was_moved() {
  task<int> first = one();
  task<int> const second = std::move(first);
  co_return co_await std::move(first);
}
task<int> await_twice() {
  task<int> twice = one();
  int const sum = co_await std::move(twice);
  co_return sum + co_await std::move(twice);
}

} // namespace

TEST_SUITE("lib.misuse") {
  TEST_CASE("it says what and where, and aborts") {
    aborts([] { misuse("an apple is no pear"); }, "quarry: an apple is no pear\n");
    aborts([] { misuse("an apple is no pear", std::source_location::current()); }, "no pear at ");
  }

  TEST_CASE("a task that is empty, or was started before, is not started") {
    auto const run = [](task<int>&& t) {
      sequential_scheduler s;
      strand place(s, "place");
      static_cast<void>(sync_wait(place, std::move(t)));
    };
    aborts([&] { run(await_what_was_moved()); }, "an empty task is started: it was moved from at ");
    aborts([&] { run(await_twice()); },
           "a task is started that has ended: it was awaited before at ");
    aborts([&] { run({}); }, "an empty task is started");
  }

  TEST_CASE("a scheduler that goes before its strands is told of") {
    aborts(
        [] {
          std::optional<native_scheduler> s(std::in_place);
          strand const place(*s, "the one that is left");
          s.reset();
        },
        "strand \"the one that is left\"");
    aborts(
        [] {
          std::optional<sequential_scheduler> s(std::in_place);
          strand const place(*s, "the one that is left");
          s.reset();
        },
        "a scheduler is destroyed before what runs on it: strand \"the one that is left\"");
  }

  TEST_CASE("a predicate that waits while its actor does is told of") {
    aborts(
        [] {
          sequential_scheduler s;
          strand place(s, "place");
          auto const nothing = []() -> task<> { co_return; };
          auto const wait = [&]() -> task<> {
            int asked = 0;
            static_cast<void>(s.run_until([&] {
              if (++asked > 1)
                sync_wait(place, nothing());
              return false;
            }));
            co_return;
          };
          place.spawn(wait(), "waiter");
          static_cast<void>(s.run_until([] { return false; }));
        },
        "a predicate of run_until() waits itself, asked on behalf of an actor that waits");
  }
}

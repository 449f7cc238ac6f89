// SPDX-License-Identifier: Apache-2.0
#include "lone_actor.hpp"

#include <quarry/this_actor.hpp>

#include <doctest/doctest.h>

using namespace quarry;
using namespace quarry_test;

namespace {

task<actor*> who() {
  co_return &co_await quarry::this_actor();
}

task<> who_at_depth(int depth, actor*& found) {
  if (depth != 0) {
    task<> below = who_at_depth(depth - 1, found);
    co_await std::move(below);
    co_return;
  }
  found = &co_await quarry::this_actor();
}

} // namespace

TEST_SUITE("lib.this_actor") {
  TEST_CASE("a task, however deep, learns the actor that runs it, without a suspension") {
    for (int const depth : {0, 1, 100}) {
      lone_actor a;
      actor* found = nullptr;
      task<> root = who_at_depth(depth, found);
      root.start_on(a);
      a.resume(); // once
      CHECK(a.state == actor_state::done);
      CHECK(found == &a);
    }
  }

  TEST_CASE("the actor is who runs the task, not who made it") {
    task<actor*> first = who();
    task<actor*> second = who();
    lone_actor a, b;
    second.start_on(a);
    first.start_on(b);
    a.resume();
    b.resume();
    CHECK(std::move(second).result() == &a);
    CHECK(std::move(first).result() == &b);
  }
}

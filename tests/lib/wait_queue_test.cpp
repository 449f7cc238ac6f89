// SPDX-License-Identifier: Apache-2.0
#include "lone_actor.hpp"

#include <quarry/wait_queue.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <mutex>

using namespace quarry;
using quarry_test::lone_actor;

TEST_SUITE("lib.wait_queue") {
  TEST_CASE("places leave from the front, the middle and the end, and the rest keeps its order") {
    lone_actor actors[5];
    std::unique_ptr<wait_place> places[5];
    wait_queue queue;
    for (int i = 0; i < 5; ++i) {
      places[i] = std::make_unique<wait_place>();
      std::lock_guard const guard(queue);
      queue.push(*places[i], actors[i]);
    }
    places[0].reset();
    places[2].reset();
    places[4].reset();
    std::lock_guard const guard(queue);
    CHECK(queue.pop() == &actors[1]);
    CHECK(queue.pop() == &actors[3]);
    CHECK(queue.pop() == nullptr);
    CHECK(queue.is_empty());
    queue.push(*places[1], actors[1]);
    CHECK(queue.pop() == &actors[1]);
  }

  TEST_CASE("a place outlives its queue") {
    lone_actor a;
    wait_place place;
    {
      wait_queue queue;
      std::lock_guard const guard(queue);
      queue.push(place, a);
    }
    CHECK(a.next == nullptr);
  }
}

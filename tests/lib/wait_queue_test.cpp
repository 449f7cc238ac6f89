// SPDX-License-Identifier: Apache-2.0
#include "lone_actor.hpp"

#include <quarry/sequential_scheduler.hpp>
#include <quarry/wait_queue.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

using namespace quarry;
using quarry_test::lone_actor;

namespace {

/// Wakes the first, an actor that nobody will run; null if there is none.
actor* wake_first(wait_queue& queue) {
  std::size_t one = 1;
  wait_place* place = nullptr;
  {
    std::lock_guard const guard(queue);
    place = queue.grant(one);
  }
  if (place == nullptr)
    return nullptr;
  actor& first = place->who();
  wait_queue::wake(place);
  return &first;
}

/// Is interrupted in the middle of its first wake-up.
class slow_executor final : public executor {
public:
  void make_ready(actor&) override {
    if (++begun == 1) {
      auto const latest = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (!may_go_on && std::chrono::steady_clock::now() < latest)
        std::this_thread::yield();
      for (int i = 0; i < 10'000; ++i)
        std::this_thread::yield();
    }
    ++ended;
  }
  void notify() override {}
  bool run_until(bool (*is_over)(void*), void* argument, wait_site const&) override {
    return is_over(argument);
  }
  strand const* turn() const noexcept override { return nullptr; }
  bool decides() const noexcept override { return false; }
  void decision_point(actor&) override {}

  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  std::atomic<bool> may_go_on{false};
};

} // namespace

TEST_SUITE("lib.wait_queue") {
  TEST_CASE("places leave from the front, the middle and the end, and the rest keeps its order") {
    sequential_scheduler s;
    strand home(s, "home");
    lone_actor actors[5];
    std::unique_ptr<wait_place> places[5];
    wait_queue queue;
    for (int i = 0; i < 5; ++i) {
      actors[i].home = &home;
      actors[i].is_abandoned = true;
      places[i] = std::make_unique<wait_place>();
      std::lock_guard const guard(queue);
      queue.push(*places[i], actors[i]);
    }
    places[0].reset();
    places[2].reset();
    places[4].reset();
    CHECK(wake_first(queue) == &actors[1]);
    CHECK(wake_first(queue) == &actors[3]);
    CHECK(wake_first(queue) == nullptr);
    CHECK(queue.is_empty());
    places[1]->accept();
    {
      std::lock_guard const guard(queue);
      queue.push(*places[1], actors[1]);
    }
    CHECK(wake_first(queue) == &actors[1]);
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

  TEST_CASE("a place that is about to be woken stays until that has happened") {
    slow_executor s;
    strand home(s, "home");
    lone_actor actors[2];
    std::optional<wait_place> places[2];
    wait_queue queue;
    wait_place* taken = nullptr;
    {
      std::lock_guard const guard(queue);
      for (int i = 0; i < 2; ++i) {
        actors[i].home = &home;
        queue.push(places[i].emplace(), actors[i]);
      }
      taken = queue.take_all();
    }
    std::thread waker([taken] { wait_queue::wake(taken); });
    while (s.begun == 0)
      std::this_thread::yield();
    s.may_go_on = true;
    places[1].reset();
    CHECK(s.ended == 2);
    waker.join();
  }
}

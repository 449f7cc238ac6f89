// SPDX-License-Identifier: Apache-2.0
#include <quarry/debug_root.hpp>
#include <quarry/event.hpp>
#include <quarry/sequential_scheduler.hpp>
#include <quarry/strand.hpp>
#include <quarry/yield.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace quarry;

namespace {

/// The last one made is the last in the list.
debug_executor const& newest() {
  return *quarry_debug_root.executors.last;
}

std::vector<std::string> names(debug_strand const& s) {
  std::vector<std::string> all;
  for (debug_actor const* a = s.actors.first; a != nullptr; a = a->next)
    all.emplace_back(a->name);
  return all;
}

/// Accesses memory, it is said.
struct nobody final : actor {
  std::string name() const override { return "nobody"; }
  void on_done() noexcept override {}
};

task<> wait_for(event& e) {
  co_await e.wait();
}

} // namespace

TEST_SUITE("lib.debug_root") {
  TEST_CASE("a list keeps its order when an element goes from its front, middle or back") {
    debug_list<debug_actor> list;
    debug_actor a, b, c, d;
    for (debug_actor* x : {&a, &b, &c, &d})
      list.push_back(*x);
    list.remove(b);
    CHECK((list.first == &a && a.next == &c && c.previous == &a));
    list.remove(a);
    CHECK((list.first == &c && c.previous == nullptr));
    list.remove(d);
    CHECK((list.last == &c && c.next == nullptr));
    list.remove(c);
    CHECK((list.first == nullptr && list.last == nullptr));
  }

  TEST_CASE("what waits is found from the root, by name, until it is done") {
    debug_executor const* const before = quarry_debug_root.executors.last;
    {
      sequential_scheduler scheduler;
      CHECK(std::string(newest().kind) == "sequential");
      strand place(scheduler, "node 3");
      event go;
      place.spawn(wait_for(go), "first");
      place.spawn(wait_for(go), "second");
      CHECK_FALSE(scheduler.run_until([] { return false; }));
      debug_strand const& s = *newest().strands.first;
      CHECK(std::string(s.name) == "node 3");
      REQUIRE(names(s) == std::vector<std::string>{"first", "second"});
      CHECK(s.actors.first->self->state == actor_state::waiting);
      go.set();
      CHECK_FALSE(scheduler.run_until([] { return false; }));
      CHECK(names(s).empty());
    }
    CHECK(quarry_debug_root.executors.last == before);
  }

  TEST_CASE("a host thread is listed while run() lasts") {
    sequential_scheduler scheduler;
    scheduler.run([] {
      REQUIRE(newest().hosts.first != nullptr);
      CHECK(std::string(newest().hosts.first->name) == "host");
      CHECK(*newest().current == newest().hosts.first->self);
    });
    CHECK(newest().hosts.first == nullptr);
  }

  TEST_CASE("an armed filter is obeyed at the decision, and not in another execution") {
    sequential_scheduler scheduler;
    strand place(scheduler, "place");
    debug_filter& filter = quarry_debug_root.filter;
    auto const two_yields = [&] {
      auto const yields = []() -> task<> { co_await yield(); };
      place.spawn(yields(), "a");
      place.spawn(yields(), "b");
      CHECK_FALSE(scheduler.run_until([] { return false; }));
    };
    quarry_debug_root.why = debug_reason::none;
    filter.is_armed = 1;
    filter.decision = 2;
    filter.execution = 7;
    two_yields();
    CHECK(quarry_debug_root.why == debug_reason::none);
    filter.execution = 0;
    filter.decision = scheduler.decision_count() + 2;
    two_yields();
    CHECK(quarry_debug_root.why == debug_reason::choice);
    CHECK(quarry_debug_root.decision == filter.decision);
    filter.is_armed = 0;
    filter.decision = 0;
  }

  TEST_CASE("an access is told once, to whom asks for one of its bytes") {
    debug_executor executor;
    std::uint64_t decisions = 4;
    executor.decisions = &decisions;
    executor.executions = 2;
    nobody who;
    char const bytes[16] = {};
    debug_filter& filter = quarry_debug_root.filter;
    auto const is_told = [&](int first, std::size_t count) {
      quarry_debug_root.why = debug_reason::none;
      debug_access(executor, who, bytes + first, count);
      ++decisions;
      return quarry_debug_root.why == debug_reason::access;
    };
    filter.address = reinterpret_cast<std::uintptr_t>(bytes + 4);
    filter.bytes = 4;
    CHECK_FALSE(is_told(0, 4));
    CHECK(is_told(0, 5));
    CHECK(quarry_debug_root.decision == 6);
    CHECK(quarry_debug_root.who == &who);
    CHECK(is_told(7, 8));
    CHECK(is_told(5, 1));
    CHECK_FALSE(is_told(8, 4));
    CHECK_FALSE(is_told(5, 0));
    --decisions; // lanes: the first one, and then all of the same access
    CHECK(is_told(0, 16));
    --decisions;
    CHECK_FALSE(is_told(4, 4));
    filter.execution = 3;
    CHECK_FALSE(is_told(4, 4));
    filter.execution = 2;
    CHECK(is_told(4, 4));
    filter.execution = 0;
    filter.bytes = 0;
    CHECK_FALSE(is_told(4, 4));
    filter.address = 0;
  }
}

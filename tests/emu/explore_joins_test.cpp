// SPDX-License-Identifier: Apache-2.0
// What a nursery orders in device memory: children come after their start, and before who joins.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/emu/handover.hpp>
#include <quarry/event.hpp>
#include <quarry/nursery.hpp>
#include <quarry/strand.hpp>
#include <quarry/sync_wait.hpp>
#include <quarry/this_actor.hpp>
#include <quarry/when_all.hpp>
#include <quarry/yield.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace quarry;
using namespace quarry::emu;

using word = std::uint32_t;

/// Words that lie apart, and where children run.
struct family {
  explicit family(world& of)
      : w(of), all(of.allocate<word>(64, "words")), place(w.scheduler(), "place") {}
  [[nodiscard]] global<word> operator[](int i) { return all.global() + 16 * i; }
  /// The core of the actor that asks.
  [[nodiscard]] world_core core_of(actor& self) { return world_core({&self, &w.scheduler()}); }

  world& w;
  buffer<word> all;
  strand place;
};

/// Plain accesses throughout.
task<> add_to(family& f, int which, word n) {
  world_core const self = f.core_of(co_await this_actor());
  self.store(f[which], self.load(f[which]) + n);
}

task<> add_and_set(family& f, event& then) {
  co_await add_to(f, 0, 2);
  then.set();
}

/// Looks at what is its parent's when it goes.
class lives {
public:
  lives(int& count, std::vector<int>& of_parent) : count_(count), of_parent_(of_parent) {
    ++count_;
  }
  lives(lives const&) = delete;
  ~lives() { count_ -= 1 + of_parent_.front(); }

private:
  int& count_;
  std::vector<int>& of_parent_;
};

task<word> number_of(word n) {
  co_await yield();
  co_return n;
}
struct has_children {
  task<> operator()(any_wavefront auto& wf, global<word> sum) const {
    auto both = when_all(number_of(1), number_of(2));
    auto const [one, other] = co_await std::move(both);
    wf.fetch_add(sum, one + other, order::relaxed, scope::agent);
  }
};

verdict explore_family(std::function<task<>(family&, world_core&)> parent,
                       std::string strategy = "swarm") {
  return explore({.executions = strategy == "exhaustive" ? 200'000U : 400U,
                  .strategy = std::move(strategy),
                  .diagnoses = false,
                  .keeps_failures = false},
                 [&](world& w) {
                   family f(w);
                   w.start_task("parent", [&](world_core& self) { return parent(f, self); });
                   w.join();
                 });
}

/// One by one: every search, and what it says of the parent.
void check_all(std::function<task<>(family&, world_core&)> const& parent) {
  for (char const* const strategy : {"swarm", "random_walk", "pct", "exhaustive"}) {
    CAPTURE(strategy);
    verdict const v = explore_family(parent, strategy);
    CHECK_MESSAGE(v, v.to_string());
  }
}

} // namespace

TEST_SUITE("emu.explore_joins") {
  TEST_CASE("what came before its start a child sees, and who joins sees what it did") {
    check_all([](family& f, world_core& self) -> task<> {
      self.store(f[0], 1);
      nursery n;
      n.start(f.place, add_to(f, 0, 2), "child");
      co_await n.join();
      f.w.check(self.load(f[0]) == 3, "3 in all");
    });
  }

  TEST_CASE("so it is where the child has ended before the join") {
    check_all([](family& f, world_core& self) -> task<> {
      event has_ended;
      nursery n;
      n.start(f.place, add_and_set(f, has_ended), "child");
      co_await has_ended.wait();
      co_await yield();
      co_await n.join();
      f.w.check(self.load(f[0]) == 2, "it has added 2");
    });
  }

  TEST_CASE("an event orders no memory, a join does") {
    auto const parent_waits = [](bool joins_first) {
      return explore_family([joins_first](family& f, world_core& self) -> task<> {
        event has_stored;
        nursery n;
        n.start(f.place, add_and_set(f, has_stored), "child");
        co_await has_stored.wait();
        if (joins_first)
          co_await n.join();
        self.load(f[0]);
        co_await n.join();
      });
    };
    verdict const unordered = parent_waits(false);
    REQUIRE_MESSAGE(unordered.failure, unordered.to_string());
    CHECK(unordered.failure->kind == "race");
    verdict const right = parent_waits(true);
    CHECK_MESSAGE(right, right.to_string());
  }

  TEST_CASE("everybody who joins comes after the children, whoever is the first") {
    for (bool const at_once : {false, true}) {
      CAPTURE(at_once);
      verdict const v = explore({.executions = 2'000, .diagnoses = false, .keeps_failures = false},
                                [&](world& w) {
                                  family f(w);
                                  nursery n;
                                  event has_joined;
                                  n.start(f.place, add_to(f, 0, 2), "child");
                                  w.start_task("one", [&](world_core& self) -> task<> {
                                    co_await n.join();
                                    w.check(self.load(f[0]) == 2, "it has added 2");
                                    has_joined.set();
                                  });
                                  w.start_task("other", [&](world_core& self) -> task<> {
                                    if (!at_once)
                                      co_await has_joined.wait();
                                    co_await n.join();
                                    w.check(self.load(f[0]) == 2, "it has added 2");
                                  });
                                  w.start("host", [&](world_core& self) {
                                    n.wait(w.scheduler());
                                    w.check(self.load(f[0]) == 2, "it has added 2");
                                  });
                                  w.join();
                                });
      CHECK_MESSAGE(v, v.to_string());
    }
  }

  TEST_CASE("children on their parent's strand go with it, where an execution is cut off") {
    int alive = 0;
    int most_alive = 0;
    verdict const v = explore(
        {.executions = 300, .most_decisions = 40, .diagnoses = false, .keeps_failures = false},
        [&](world& w) {
          most_alive = std::max(most_alive, alive);
          family f(w);
          auto const child = [&](std::vector<int>& of_parent) -> task<> {
            lives const here(alive, of_parent);
            world_core const self = f.core_of(co_await this_actor());
            for (;;)
              self.fetch_add(f[1], 1U, order::relaxed, scope::system);
          };
          w.start_task("parent", [&](world_core& self) -> task<> {
            std::vector<int> mine(1);
            strand& beside = *(co_await this_actor()).home;
            nursery n;
            n.start(beside, child(mine), "child");
            for (int i = 0; i < 30; ++i)
              self.fetch_add(f[0], 1U, order::relaxed, scope::system);
            co_await n.join();
          });
          w.join();
        });
    CHECK_FALSE(v.failure);
    CHECK(v.inconclusive == v.executions);
    CHECK(most_alive == 0);
    CHECK(alive == 0);
  }

  TEST_CASE("so they do where the world has thrown meanwhile, but for good") {
    verdict const v =
        explore({.executions = 20, .diagnoses = false, .keeps_failures = false}, [&](world& w) {
          family f(w);
          auto const child = [&]() -> task<> {
            world_core const self = f.core_of(co_await this_actor());
            for (;;)
              self.fetch_add(f[1], 1U, order::relaxed, scope::system);
          };
          bool has_started = false;
          w.start_task("parent", [&](world_core&) -> task<> {
            strand& beside = *(co_await this_actor()).home;
            nursery n;
            n.start(beside, child(), "child");
            has_started = true;
            co_await n.join();
          });
          static_cast<void>(w.scheduler().run_until([&] { return has_started; }));
          throw std::runtime_error("the world's");
        });
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK(v.failure->report.starts_with("the world's"));
  }

  TEST_CASE("a nursery may outlive an execution, whose children order nothing in the next one") {
    nursery n;
    bool is_first = true;
    verdict const v = explore({.executions = 20, .keeps_failures = false}, [&](world& w) {
      family f(w);
      if (std::exchange(is_first, false))
        for (int i = 0; i < 60; ++i)
          sync_wait(f.place, add_to(f, 1, 1));
      n.start(f.place, add_to(f, 0, 2), "child");
      n.wait(w.scheduler());
      w.check(w.host().load(f[0]) == 2, "it has added 2");
    });
    CHECK_FALSE(v.failure);
  }

  TEST_CASE("what a child's parent has stored itself is newer than what host code had written") {
    verdict const v = explore({.executions = 1'000, .keeps_failures = false}, [](world& w) {
      family f(w);
      w.start("answers", [&](world_core& self) {
        self.store(f[0], 3, order::relaxed, scope::system);
        self.store(f[1], 1, order::release, scope::system);
        while (self.load(f[1], order::acquire, scope::system) != 2) {
        }
        self.store(f[0], 7, order::relaxed, scope::system);
        sync_wait(f.place, number_of(1));
        self.store(f[1], 3, order::release, scope::system);
      });
      auto const await = [&](word n) {
        while (w.host().load(f[1], order::acquire, scope::system) != n) {
        }
        bring_to_host();
      };
      await(1);
      f.all.host()[0] = 0;
      w.host().store(f[1], 2, order::release, scope::system);
      await(3);
      w.check(f.all.host()[0] == 7, "the answer");
      w.join();
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("what host code has written past us a child finds") {
    verdict const v = explore({.executions = 300, .keeps_failures = false}, [](world& w) {
      family f(w);
      sync_wait(f.place, add_to(f, 0, 2));
      f.all.host()[0] = 5;
      sync_wait(f.place, add_to(f, 0, 2));
      w.check(f.all.host()[0] == 7, "7 in all");
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("when_all() gives what its tasks have stored") {
    check_all([](family& f, world_core& self) -> task<> {
      self.store(f[0], 1);
      auto both = when_all(add_to(f, 0, 2), add_to(f, 1, 4));
      co_await std::move(both);
      f.w.check(self.load(f[0]) + self.load(f[1]) == 7, "7 in all");
    });
  }

  TEST_CASE("two children are not ordered with each other") {
    verdict const v = explore_family([](family& f, world_core&) -> task<> {
      auto both = when_all(add_to(f, 0, 2), add_to(f, 0, 4));
      co_await std::move(both);
    });
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK(v.failure->kind == "race");
  }

  TEST_CASE("what a child's child did is there, too; and what a child did that throws") {
    check_all([](family& f, world_core& self) -> task<> {
      auto const child = [&]() -> task<> {
        nursery inner;
        inner.start(f.place, add_to(f, 0, 2), "grandchild");
        co_await inner.join();
      };
      auto const throws = [&]() -> task<> {
        co_await add_to(f, 1, 4);
        throw std::runtime_error("after 4");
      };
      self.store(f[0], 1);
      nursery n;
      n.start(f.place, child(), "child");
      n.start(f.place, throws(), "throws");
      try {
        co_await n.join();
      } catch (std::runtime_error const&) {
        f.w.check(self.load(f[0]) + self.load(f[1]) == 7, "7 in all");
      }
    });
  }

  TEST_CASE("a world function that waits for a nursery, or for a task, finds it in host memory") {
    verdict const v = explore({.executions = 400, .keeps_failures = false}, [](world& w) {
      family f(w);
      w.host().store(f[0], 1);
      sync_wait(f.place, add_to(f, 0, 2));
      w.check(w.host().load(f[0]) == 3 && f.all.host()[0] == 3, "3 in all");
      nursery n;
      n.start(f.place, add_to(f, 0, 4), "child");
      n.wait(w.scheduler());
      w.check(w.host().load(f[0]) == 7 && f.all.host()[0] == 7, "7 in all");
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("others see a child's last stores late, as long as nobody has joined it") {
    bool is_late = false;
    verdict const v = explore({.executions = 2'000,
                               .runs_repeated = true,
                               .detects_races = false,
                               .keeps_failures = false},
                              [&](world& w) {
                                family f(w);
                                auto const child = [&]() -> task<> {
                                  world_core const self = f.core_of(co_await this_actor());
                                  self.store(f[0], 1);
                                  self.store(f[1], 1, order::relaxed, scope::system);
                                };
                                w.start_task("parent", [&](world_core& self) -> task<> {
                                  self.load(f[2]);
                                  nursery n;
                                  n.start(f.place, child(), "child");
                                  co_await n.join();
                                });
                                w.start("other", [&](world_core& self) {
                                  if (self.load(f[1], order::acquire, scope::system) == 1)
                                    is_late = is_late || self.load(f[0]) == 0;
                                });
                                w.join();
                              });
    CHECK_MESSAGE(v, v.to_string());
    CHECK(is_late);
  }

  TEST_CASE("where there are too many children, who joins them is told so") {
    explore_options o{.executions = 1, .most_decisions = 100'000, .diagnoses = false};
    o.keeps_failures = false;
    verdict const v = explore(o, [](world& w) {
      family f(w);
      auto const many = [&]() -> task<> {
        for (int i = 0; i < 2'100; ++i) {
          auto both = when_all(number_of(1), number_of(2));
          co_await std::move(both);
        }
      };
      sync_wait(f.place, many());
    });
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK(v.failure->kind == "exception");
    CHECK_MESSAGE(v.failure->report.starts_with("explore: an execution has at most 4096 actors"),
                  v.failure->report);
  }

  TEST_CASE("a wavefront's children are a part of it") {
    verdict const v = explore({.executions = 200, .keeps_failures = false}, [](world& w) {
      explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
      auto sum = gpu.allocate<word>(1, "sum");
      static_cast<void>(
          gpu.run({.work_items = 64, .work_items_per_group = 32}, has_children{}, sum.global()));
      w.check(sum.host()[0] == 6, "3 of each");
    });
    CHECK_MESSAGE(v, v.to_string());
  }
}

// SPDX-License-Identifier: Apache-2.0
// Waits for values that come and go, and work that looks like a wait.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace {

using namespace quarry;
using namespace quarry::emu;

using word = std::uint32_t;

bool is_one(word v) {
  return v == 1;
}

/// The waiter asks for a signal that is there only for a while.
template<order Awaits>
void brief_signal(world& w) {
  auto words = w.allocate<word>(32, "words");
  auto const request = words.global(), signal = words.global() + 16;
  w.start_task("waiter", [=](world_core& self) -> task<> {
    self.exchange(request, 1, order::acq_rel, scope::system);
    static_cast<void>(co_await self.wait_until(signal, is_one, Awaits, scope::system));
  });
  w.start_task("sender", [=](world_core& self) -> task<> {
    static_cast<void>(co_await self.wait_until(request, is_one, order::acquire, scope::system));
    self.exchange(signal, 1, order::acq_rel, scope::system);
    self.exchange(signal, 2, order::acq_rel, scope::system);
  });
  w.join();
}

/// An MCS lock's hand-over: who comes second writes into a word that the first one has cleared, so
/// that the first one's update of the tail has to release that.
template<order Enters, order Looks, order Links>
void hand_over(world& w) {
  auto words = w.allocate<word>(64, "words");
  auto const next = words.global(), tail = words.global() + 16, given = words.global() + 32;
  auto const is_two = [](word v) { return v == 2; };
  w.start_task("first", [=](world_core& self) -> task<> {
    self.store(next, 0, order::relaxed, scope::system);
    self.exchange(tail, 1, Enters, scope::system);
    static_cast<void>(co_await self.wait_until(tail, is_two, order::relaxed, scope::system));
    static_cast<void>(co_await self.wait_until(next, is_one, Looks, scope::system));
    self.store(given, 1, order::release, scope::system);
  });
  w.start_task("second", [=](world_core& self) -> task<> {
    static_cast<void>(co_await self.wait_until(tail, is_one, order::acquire, scope::system));
    self.exchange(tail, 2, order::acq_rel, scope::system);
    self.store(next, 1, Links, scope::system);
    static_cast<void>(co_await self.wait_until(given, is_one, order::acquire, scope::system));
  });
  w.join();
}

constexpr machine two_units{.compute_units = 2, .wavefront_size = 32};

/// A host gives a signal and takes it back; work-item 1 gives it again, for good.
template<class Kernel>
void signal_that_comes_back(world& w) {
  agent gpu(w.scheduler(), two_units);
  auto words = w.allocate<word>(32, "words");
  auto const signal = words.global(), go = words.global() + 16;
  w.start("host", [=](world_core& self) {
    self.store(signal, 1, order::release, scope::system);
    self.exchange(signal, 0, order::acq_rel, scope::system);
    self.store(go, 1, order::release, scope::system);
  });
  w.start("launcher", [&](world_core&) {
    w.check(static_cast<bool>(
                gpu.run({.work_items = 2, .work_items_per_group = 2}, Kernel{}, signal, go)),
            "a fault");
  });
  w.join();
}
struct wait_as_coroutine {
  task<> operator()(any_work_item auto& wi, global<word> signal, global<word> go) const {
    auto const at = wi.local_linear_id() == 0 ? signal : go;
    static_cast<void>(co_await wi.wait_until(at, is_one, order::acquire, scope::system));
    if (wi.local_linear_id() == 1)
      wi.store(signal, 1, order::release, scope::system);
  }
};
struct wait_as_function {
  void operator()(any_plain_work_item auto& wi, global<word> signal, global<word> go) const {
    auto const at = wi.local_linear_id() == 0 ? signal : go;
    static_cast<void>(wi.wait_until(at, is_one, order::acquire, scope::system));
    if (wi.local_linear_id() == 1)
      wi.store(signal, 1, order::release, scope::system);
  }
};

/// Every round looks at a limit that nobody changes.
struct take_tasks {
  void operator()(any_plain_work_item auto& wi, global<word> next, global<word> limit,
                  global<word> done) const {
    for (;;) {
      word const mine = wi.fetch_add(next, 1U, order::relaxed, scope::agent);
      if (mine >= wi.load(limit, order::relaxed, scope::agent))
        return;
      wi.store(done + mine, 1U);
    }
  }
};
/// Looks at a flag between plain loads: no spin, which only looks. Work-item 1 sets it.
struct load_until_told {
  void operator()(any_plain_work_item auto& wi, global<word> flag, global<word> value) const {
    word sum = 0;
    if (wi.local_linear_id() == 1)
      wi.store(flag, 1U, order::relaxed, scope::agent);
    else
      while (wi.load(flag, order::relaxed, scope::agent) == 0)
        sum += wi.load(value);
    wi.store(value + (1 + wi.local_linear_id()), sum);
  }
};

/// Two work-items of a wavefront wait for a signal that comes and goes, and comes back for good.
struct wait_together {
  void operator()(any_plain_work_item auto& wi, global<word> signal) const {
    static_cast<void>(
        wi.wait_until(signal, [](word v) { return v == 2; }, order::relaxed, scope::system));
  }
};
struct signal_together {
  void operator()(any_plain_work_item auto& wi, global<word> signal) const {
    wi.store(signal, 1U, order::relaxed, scope::system);
    wi.store(signal, 2U, order::release, scope::system);
  }
};

/// The first wavefront stores what two work-items of the second one wait for.
template<scope Stores, scope Waits>
struct signal_two_items {
  void operator()(any_plain_work_item auto& wi, global<word> signal) const {
    if (wi.wavefront_in_group() == 0 && wi.lane() == 0)
      wi.store(signal, 1U, order::release, Stores);
    else if (wi.wavefront_in_group() == 1 && wi.lane() < 2)
      static_cast<void>(wi.wait_until(signal, is_one, order::acquire, Waits));
  }
};
/// The first wavefront stores what all others wait for.
template<scope Stores, scope Waits>
struct signal_wavefronts {
  task<> operator()(any_wavefront auto& wf, global<word> signal) const {
    if (wf.index_in_group() == 0)
      wf.store(signal, 1U, order::release, Stores);
    else
      static_cast<void>(co_await wf.wait_until(signal, is_one, order::acquire, Waits));
  }
};

/// All executions of one work-group of so many wavefronts, of which there are not many.
template<class Kernel>
void comes_to_an_end(std::uint32_t wavefronts) {
  explore_options const o{.executions = 20'000, .strategy = "exhaustive", .keeps_failures = false};
  verdict const v = explore(o, [wavefronts](world& w) {
    agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
    auto signal = w.allocate<word>(1, "signal");
    launch_config const one{.work_groups = 1, .work_items_per_group = 32 * wavefronts};
    w.check(static_cast<bool>(gpu.run(one, Kernel{}, signal.global())), "the kernel has failed");
  });
  CHECK_MESSAGE(v, v.to_string());
  CHECK_MESSAGE(v.is_complete, v.to_string());
}

/// Two wavefronts take turns by a word in LDS, which each only updates: to see, or to go on.
struct take_turns_in_lds {
  task<> operator()(any_wavefront auto& wf) const {
    auto const turn = wf.template lds<word, 1>() + 0;
    word const me = wf.index_in_group();
    if (me == 0)
      wf.store(turn, 0U);
    auto met = wf.barrier();
    co_await met;
    for (word i = 0; i < 10; ++i) {
      word mine = 0;
      do
        mine = 2 * i + me;
      while (!wf.compare_exchange(turn, mine, mine + 1, order::acq_rel, scope::work_group));
    }
  }
};

/// Of a lock, which is free where the word is 0.
bool takes(auto& wi, global<word> lock) {
  word free = 0;
  return wi.compare_exchange(lock, free, 1U, order::acquire, scope::agent);
}
/// The third to hold the lock gives it back without a release.
void count_and_unlock(auto& wi, global<word> lock, global<word> count) {
  word const before = wi.load(count);
  wi.store(count, before + 1);
  wi.store(lock, 0U, before == 2 ? order::relaxed : order::release, scope::agent);
}
struct lock_as_coroutine {
  task<> operator()(any_work_item auto& wi, global<word> lock, global<word> count) const {
    do
      static_cast<void>(co_await wi.wait_until(
          lock, [](word v) { return v == 0; }, order::relaxed, scope::agent));
    while (!takes(wi, lock));
    count_and_unlock(wi, lock, count);
  }
};
struct lock_as_function {
  void operator()(any_plain_work_item auto& wi, global<word> lock, global<word> count) const {
    do
      while (wi.load(lock, order::relaxed, scope::agent) != 0) {
      }
    while (!takes(wi, lock));
    count_and_unlock(wi, lock, count);
  }
};
template<class Kernel>
void count_under_lock(world& w) {
  agent gpu(w.scheduler(), two_units);
  auto words = gpu.allocate<word>(32, "words");
  w.check(static_cast<bool>(gpu.run({.work_groups = 2, .work_items_per_group = 2}, Kernel{},
                                    words.global(), words.global() + 16)),
          "a fault");
}

/// Of 200 executions by each strategy that may prefer who spins.
void all_come_to_an_end(std::function<void(world&)> const& f) {
  for (char const* const strategy : {"swarm", "pct", "random_walk"}) {
    CAPTURE(strategy);
    explore_options o{.executions = 200, .keeps_failures = false};
    o.strategy = strategy;
    verdict const v = explore(o, f);
    REQUIRE_MESSAGE(v, v.to_string());
    CHECK(v.inconclusive == 0);
  }
}

} // namespace

TEST_SUITE("emu.explore_waits") {
  TEST_CASE("who waits for a value that has been overwritten waits for ever, in any order") {
    for (char const* const strategy : {"swarm", "pct", "exhaustive"}) {
      CAPTURE(strategy);
      explore_options const o{
          .executions = 20'000, .strategy = strategy, .diagnoses = false, .keeps_failures = false};
      for (verdict const& v :
           {explore(o, brief_signal<order::acquire>), explore(o, brief_signal<order::relaxed>)}) {
        REQUIRE(v.failure);
        CHECK(v.failure->kind == "deadlock");
      }
    }
  }

  TEST_CASE(
      "so does who has written that value itself, where another store may have come after it") {
    for (bool const both : {false, true})
      for (char const* const strategy : {"swarm", "random_walk", "exhaustive"}) {
        CAPTURE(both);
        CAPTURE(strategy);
        explore_options const o{.strategy = strategy, .diagnoses = false, .keeps_failures = false};
        verdict const v = explore(o, [both](world& w) {
          auto words = w.allocate<word>(1, "turn");
          auto const turn = words.global();
          w.start_task("one", [=](world_core& self) -> task<> {
            self.store(turn, 1, order::relaxed, scope::system);
            if (both)
              static_cast<void>(
                  co_await self.wait_until(turn, is_one, order::relaxed, scope::system));
          });
          w.start_task("two", [=](world_core& self) -> task<> {
            self.store(turn, 2, order::relaxed, scope::system);
            auto const is_two = [](word v) { return v == 2; };
            static_cast<void>(
                co_await self.wait_until(turn, is_two, order::relaxed, scope::system));
          });
          w.join();
        });
        REQUIRE_MESSAGE(v.failure, v.to_string());
        CHECK(v.failure->kind == "deadlock");
      }
  }

  TEST_CASE("who waits may find that what it waits for came before its own late store") {
    auto const explored = [](auto f, bool reduces, bool hashes) {
      explore_options o{.executions = 100'000, .strategy = "exhaustive", .keeps_failures = false};
      o.reduces = reduces, o.hashes_states = hashes;
      return explore(o, f);
    };
    for (auto const& [reduces, hashes] : {std::pair(false, false), {true, false}, {false, true}}) {
      CAPTURE(reduces);
      CAPTURE(hashes);
      auto const right =
          explored(hand_over<order::acq_rel, order::acquire, order::release>, reduces, hashes);
      CHECK_MESSAGE(right.is_complete, right.to_string());
      CHECK_MESSAGE(right, right.to_string());
      for (auto const f : {hand_over<order::acquire, order::acquire, order::release>,
                           hand_over<order::relaxed, order::acquire, order::relaxed>,
                           hand_over<order::acquire, order::relaxed, order::release>,
                           hand_over<order::acquire, order::relaxed, order::relaxed>}) {
        auto const lost = explored(f, reduces, hashes);
        REQUIRE_MESSAGE(lost.failure, lost.to_string());
        CHECK(lost.failure->kind == "deadlock");
      }
    }
    CHECK(explore({.keeps_failures = false},
                  hand_over<order::acquire, order::acquire, order::release>)
              .failure);
  }

  TEST_CASE("a work-item whose signal came and went does not keep the others of its wavefront") {
    explore_options const o{.executions = 5'000, .keeps_failures = false};
    for (verdict const& v : {explore(o, signal_that_comes_back<wait_as_coroutine>),
                             explore(o, signal_that_comes_back<wait_as_function>)})
      CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("the newest, which does not end a wait, is seen once: then what is late may come") {
    // To diagnose, executions are run again in which nothing is late that need not be.
    explore_options const o{.shrinks = false, .keeps_failures = false};
    for (verdict const& v : {explore(o, count_under_lock<lock_as_coroutine>),
                             explore(o, count_under_lock<lock_as_function>)}) {
      REQUIRE(v.failure);
      CHECK(v.failure->kind == "race");
    }
  }

  TEST_CASE("so it is by each of several work-items of a wavefront that ask in turns") {
    explore_options const o{.executions = 2'000, .strategy = "exhaustive", .keeps_failures = false};
    verdict const v = explore(o, [](world& w) {
      agent gpu(w.scheduler(), two_units);
      auto words = w.allocate<word>(1, "signal");
      launch_config const two{.work_items = 2, .work_items_per_group = 2};
      w.start("waits", [&](world_core&) {
        static_cast<void>(gpu.run(two, wait_together{}, words.global()));
      });
      w.start("signals", [&](world_core&) {
        static_cast<void>(gpu.run(two, signal_together{}, words.global()));
      });
      w.join();
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE(
      "or by several who wait at a wider scope than that of the store: none sees it anew only "
      "because another one has looked") {
    comes_to_an_end<signal_two_items<scope::work_group, scope::agent>>(2);
    comes_to_an_end<signal_two_items<scope::agent, scope::system>>(2);
    comes_to_an_end<signal_wavefronts<scope::work_group, scope::agent>>(3);
    comes_to_an_end<signal_wavefronts<scope::agent, scope::system>>(3);
  }

  TEST_CASE("who spins gives way, whoever is preferred: taking turns by plain loops has its ends") {
    all_come_to_an_end([](world& w) {
      auto turn = w.allocate<word>(1, "turn");
      for (word const me : {0U, 1U})
        w.start("player", [me, at = turn.global()](world_core& self) {
          for (word i = 0; i < 20; ++i) {
            while (self.load(at, order::acquire, scope::system) != 2 * i + me) {
            }
            self.store(at, 2 * i + me + 1, order::release, scope::system);
          }
        });
      w.join();
      w.check(w.host().load(turn.global()) == 40, "all turns");
    });
  }

  TEST_CASE("so does who spins by updates of LDS that change nothing") {
    all_come_to_an_end([](world& w) {
      explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
      auto const end = gpu.run(
          {.work_groups = 1, .work_items_per_group = 64, .lds_bytes = sizeof(std::uint64_t)},
          take_turns_in_lds{});
      w.check(static_cast<bool>(end), "a fault");
    });
  }

  TEST_CASE("a loop that works, and looks at the same word in every round, is no wait") {
    constexpr word tasks = 200;
    verdict const takes = explore({.executions = 20, .keeps_failures = false}, [](world& w) {
      agent gpu(w.scheduler(), two_units);
      auto words = gpu.allocate<word>(2, "next, limit"), done = gpu.allocate<word>(tasks, "done");
      words.host()[1] = tasks;
      w.check(static_cast<bool>(gpu.run({.work_items = 2, .work_items_per_group = 2}, take_tasks{},
                                        words.global(), words.global() + 1, done.global())),
              "a fault");
      for (word const d : done.host())
        w.check(d == 1, "a task is left");
    });
    CHECK_MESSAGE(takes, takes.to_string());
    verdict const loads = explore({.executions = 200, .keeps_failures = false}, [](world& w) {
      agent gpu(w.scheduler(), two_units);
      auto flag = gpu.allocate<word>(1, "flag"), value = gpu.allocate<word>(3, "value");
      w.check(static_cast<bool>(gpu.run({.work_items = 2, .work_items_per_group = 2},
                                        load_until_told{}, flag.global(), value.global())),
              "a fault");
    });
    CHECK_MESSAGE(loads, loads.to_string());
  }
}

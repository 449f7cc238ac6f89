// SPDX-License-Identifier: Apache-2.0
// Executions whose choices have all been made before: known, and not run again.
#include "message_world.hpp"
#include "repetitions.hpp"

#include <quarry/emu.hpp>
#include <quarry/mutex.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace quarry_test;

/// Fails in one execution of many: a payload that is stale though everything is atomic.
void pass_by_luck(world& w) {
  auto words = w.allocate<std::uint32_t>(32, "words");
  auto const data = words.global(), flag = words.global() + 16;
  w.start("writer", [&](world_core& self) {
    for (std::uint32_t i = 1; i <= 3; ++i)
      self.store(data, i, order::relaxed, scope::system);
    self.store(flag, 1, order::relaxed, scope::system);
  });
  w.start("reader", [&](world_core& self) {
    if (self.load(flag, order::relaxed, scope::system) == 1)
      w.check(self.load(data, order::relaxed, scope::system) != 1, "the oldest payload but one");
  });
  w.join();
}

/// Two mutexes, locked crosswise.
void lock_crosswise(world& w) {
  mutex one, two;
  auto const lock_both = [](mutex& first, mutex& second) -> task<> {
    auto const outer = co_await first.lock();
    auto const inner = co_await second.lock();
  };
  w.start_task("one", [&](world_core&) { return lock_both(one, two); });
  w.start_task("two", [&](world_core&) { return lock_both(two, one); });
  w.join();
}

/// Two elements through an SPSC queue of two slots.
void pass_two(world& w) {
  spsc_queue<std::uint64_t, 1> q(w.known(), 2);
  w.start_task("producer", [&q](world_core& self) -> task<> {
    for (std::uint64_t i = 1; i <= 2; ++i) {
      auto reserved = q.reserve(self);
      auto const slot = co_await std::move(reserved);
      self.store(slot, i);
      q.publish(self);
    }
  });
  w.start_task("consumer", [&q, &w](world_core& self) -> task<> {
    for (std::uint64_t i = 1; i <= 2; ++i) {
      auto peeked = q.peek(self);
      auto const slot = co_await std::move(peeked);
      w.check(self.load(slot) == i, "out of order");
      q.release(self);
    }
  });
  w.join();
}

/// Two that take turns, and end only if the one that began has been first: others are cut.
void take_turns(world& w) {
  auto turn = w.allocate<std::uint32_t>(1, "turn");
  bool has_begun = false, is_short = false;
  for (std::uint32_t me = 0; me < 2; ++me)
    w.start("player", [&, at = turn.global(), me](world_core& self) {
      if (!std::exchange(has_begun, true))
        is_short = me == 0;
      while (!is_short)
        if (self.load(at, order::acquire, scope::system) % 2 == me)
          self.fetch_add(at, 1, order::acq_rel, scope::system);
    });
  w.join();
}

struct add_one {
  template<any_wavefront W>
  task<> operator()(W& wf, global<std::uint32_t> count) const {
    if (auto const leader = wf.where(wf.local_id() < 1))
      wf.fetch_add(count, 1U, order::relaxed, scope::agent);
    co_return;
  }
};

/// Two wavefronts on two compute units.
void count_to_two(world& w) {
  explored_agent gpu(w.scheduler(), {.compute_units = 2, .wavefront_size = 32});
  auto count = gpu.allocate<std::uint32_t>(1, "count");
  static_cast<void>(
      gpu.run({.work_groups = 2, .work_items_per_group = 32}, add_one{}, count.global()));
  w.check(count.host()[0] == 2, "lost");
}

auto told(verdict const& v) {
  using failure = std::tuple<std::string, std::string, std::uint64_t, std::uint64_t, choice_record>;
  failure f;
  if (v.failure)
    f = {v.failure->kind, v.failure->where, v.failure->seed, v.failure->execution,
         v.failure->shrunk};
  return std::tuple(v.executions, v.trace_hash, v.inconclusive, v.divergence, f);
}

std::string text_of(std::vector<adjustment> const& those) {
  std::string text;
  for (adjustment const& a : those)
    text += to_string(a) + "\n";
  return text;
}

} // namespace

TEST_SUITE("emu.explore_repeated") {
  TEST_CASE("an exploration comes to the same whether repeated executions are run or not") {
    std::pair<char const*, std::function<void(world&)>> const worlds[] = {
        {"right", [](world& w) { pass_message(w, {}); }},
        {"racing", [](world& w) { pass_message(w, {.write = order::relaxed}); }},
        {"lucky", pass_by_luck},
        {"crosswise", lock_crosswise},
        {"two", pass_two},
        {"kernel", count_to_two},
        {"turns", take_turns},
    };
    std::uint64_t cut = 0;
    for (auto const& [name, f] : worlds)
      for (char const* const strategy : {"swarm", "pct", "random_walk", "boring"})
        for (unsigned const jobs : {1U, 2U})
          for (std::uint64_t const seed : {1ULL, 77ULL}) {
            CAPTURE(name);
            CAPTURE(strategy);
            CAPTURE(jobs);
            CAPTURE(seed);
            explore_options o{.executions = fewer(3'000U), .jobs = jobs, .seed = seed};
            o.strategy = strategy;
            if (name == std::string("turns")) {
              o.executions = 100;
              o.most_decisions = 50;
            }
            o.detects_races = name != std::string("lucky");
            o.most_shrinking = 100;
            o.diagnoses = false;
            verdict const known = explore(o, f);
            o.runs_repeated = true;
            verdict const all = explore(o, f);
            CHECK(told(known) == told(all));
            CHECK(all.repeated == 0);
            cut += all.inconclusive;
          }
    CHECK(cut != 0);
    CHECK(cut < 100 * 16);
  }

  TEST_CASE("the world function is called for executions that are new, and a few others") {
    std::uint64_t calls = 0;
    verdict const v = explore({.executions = 10'000}, [&](world& w) {
      ++calls; // of no influence
      pass_message(w, {});
    });
    CHECK_MESSAGE(v, v.to_string());
    CHECK(v.executions == 10'000);
    CHECK(calls == v.executions - v.repeated);
    CHECK(calls < 1'000);
    CHECK(calls > 10); // one in a thousand of those that are known
    CHECK(v.to_string().find(std::to_string(calls) + " run, the others were the same again") !=
          std::string::npos);

    calls = 0;
    explore_options o{.executions = 2'000};
    o.runs_repeated = true;
    CHECK(explore(o, [&](world& w) {
      ++calls;
      pass_message(w, {});
    }));
    CHECK(calls == 2'000);
  }

  TEST_CASE("what keeps something between executions is named, and everything is run then") {
    std::uint64_t calls = 0;
    verdict const v = explore({.executions = 10'000}, [&](world& w) {
      auto words = w.allocate<std::uint32_t>(2, "words");
      for (std::uint32_t i = 0; i < 2; ++i)
        w.start("writer", [at = words.global() + i, &calls](world_core& self) {
          self.store(at, 1);
          if (calls > 24) // for a cache of its own, say
            self.store(at, 2);
        });
      ++calls;
      w.join();
    });
    CHECK_MESSAGE(v, v.to_string());
    CHECK(v.divergence.find("hidden state: after ") == 0);
    CHECK(v.to_string().find("hidden state") != std::string::npos);
    CHECK(calls == v.executions - v.repeated);
    CHECK(calls > 3'000);
  }

  TEST_CASE("diagnoses and narrowings are the same") {
    for (order const write : {order::relaxed, order::seq_cst}) {
      explore_options o{.executions = 300};
      o.narrows = true;
      auto const f = [write](world& w) { pass_message(w, {.write = write}); };
      verdict const known = explore(o, f);
      o.runs_repeated = true;
      verdict const all = explore(o, f);
      CHECK(known.failure.has_value() == all.failure.has_value());
      REQUIRE(known.failure.has_value() == (write == order::relaxed));
      if (known.failure) {
        REQUIRE(known.failure->mended);
        REQUIRE(all.failure->mended);
        CHECK(text_of(known.failure->mended->changes) == text_of(all.failure->mended->changes));
        CHECK(!known.failure->mended->changes.empty());
      }
      CHECK(text_of(known.narrowings) == text_of(all.narrowings));
      CHECK(known.narrowings.empty() == (write == order::relaxed));
    }
  }
}

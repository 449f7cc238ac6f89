// SPDX-License-Identifier: Apache-2.0
// Exploration of actors that ask, or try, and do not wait: what comes between two such steps.
#include "explored_ends.hpp"

#include <quarry/event.hpp>
#include <quarry/latch.hpp>
#include <quarry/mutex.hpp>
#include <quarry/random_bits.hpp>
#include <quarry/semaphore.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

using namespace quarry_test;

namespace {

enum class step : std::uint8_t {
  try_lock,
  unlock,
  set,
  reset,
  is_set,
  try_acquire,
  release,
  count_down,
  count,
};
constexpr std::size_t kinds = 9, actors = 2, each = 3;
constexpr std::size_t most_count = actors * each;
using program = std::array<std::array<step, each>, actors>;

/// What actors have seen, each as one number.
using results = std::array<std::uint64_t, actors>;
void add(std::uint64_t& saw, std::size_t what) {
  saw = saw * (most_count + 2) + what + 1;
}

/// All that a step at a time can come to.
class model {
public:
  explicit model(program const& p) : program_(p) {}
  std::set<words> all() {
    go_on({});
    return ends_;
  }

private:
  struct state {
    std::array<std::size_t, actors> next{};
    results saw{};
    std::size_t holder = actors; ///< nobody
    bool is_set = false;
    std::size_t units = 1;
    std::size_t count = most_count;
  };
  void go_on(state const& now) {
    bool is_end = true;
    for (std::size_t who = 0; who < actors; ++who)
      if (std::size_t const i = now.next[who]; i <= each) {
        state then = now;
        ++then.next[who];
        take(then, who, i == each ? step::unlock : program_[who][i]); // its guard goes
        go_on(then);
        is_end = false;
      }
    if (is_end)
      ends_.insert({now.saw[0], now.saw[1], 0, 0});
  }
  static void take(state& s, std::size_t who, step what) {
    switch (what) {
    case step::try_lock:
      add(s.saw[who], s.holder == actors ? 1 : 0);
      if (s.holder == actors)
        s.holder = who;
      break;
    case step::unlock:
      if (s.holder == who)
        s.holder = actors;
      break;
    case step::set:
    case step::reset:
      s.is_set = what == step::set;
      break;
    case step::is_set:
      add(s.saw[who], s.is_set ? 1 : 0);
      break;
    case step::try_acquire:
      add(s.saw[who], s.units != 0 ? 1 : 0);
      s.units -= s.units != 0 ? 1 : 0;
      break;
    case step::release:
      ++s.units;
      break;
    case step::count_down:
      --s.count;
      break;
    case step::count:
      add(s.saw[who], s.count);
      break;
    }
  }

  program program_;
  std::set<words> ends_;
};

/// The same in a world.
void run(world& w, words& seen, program const& p) {
  quarry::mutex m;
  quarry::event e;
  quarry::semaphore units(1);
  quarry::latch l(most_count);
  for (std::size_t who = 0; who < actors; ++who)
    w.start(std::to_string(who), [&, who](world_core&) {
      quarry::mutex::guard held;
      for (step const what : p[who])
        switch (what) {
        case step::try_lock: {
          auto mine = m.try_lock();
          add(seen[who], mine ? 1 : 0);
          if (mine)
            held = std::move(mine);
          break;
        }
        case step::unlock:
          held.unlock();
          break;
        case step::set:
          e.set();
          break;
        case step::reset:
          e.reset();
          break;
        case step::is_set:
          add(seen[who], e.is_set() ? 1 : 0);
          break;
        case step::try_acquire:
          add(seen[who], units.try_acquire() ? 1 : 0);
          break;
        case step::release:
          units.release();
          break;
        case step::count_down:
          l.count_down();
          break;
        case step::count:
          add(seen[who], l.count());
          break;
        }
    });
  w.join();
}

std::string text_of(program const& p) {
  static constexpr std::array<char const*, kinds> names{"try_lock", "unlock",     "set",
                                                        "reset",    "is_set",     "try_acquire",
                                                        "release",  "count_down", "count"};
  std::string text;
  for (auto const& steps : p) {
    for (step const s : steps)
      text += std::string(names[static_cast<std::size_t>(s)]) + " ";
    text += "| ";
  }
  return text;
}

struct fill {
  void operator()(any_wavefront auto& wf, global<std::uint32_t> words) const {
    wf.store(words + wf.global_id(), 1U);
  }
};

struct raise {
  void operator()(work_item& wi, quarry::event& ready, quarry::semaphore& units) const {
    units.release();
    if (wi.global_id() == 0)
      ready.set();
  }
};

/// A guard, as a program's own would be.
struct gives_back {
  explicit gives_back(quarry::semaphore& s) : units(s) {}
  gives_back(gives_back const&) = delete;
  ~gives_back() { units.release(); }
  quarry::semaphore& units;
};

} // namespace

TEST_SUITE("emu.explore_asks") {
  TEST_CASE("programs that ask and try come to all that a step at a time can come to") {
    for (std::uint64_t seed = 1; seed <= 120; ++seed) {
      program p{};
      for (std::size_t i = 0; i < actors * each; ++i)
        p[i / each][i % each] = static_cast<step>(random_bits::at(seed, i) % kinds);
      CAPTURE(text_of(p));
      auto const f = [&p](world& w, words& seen) { run(w, seen, p); };
      std::set<words> const expected = model(p).all();
      CHECK(all_of(f, search::everything).seen == expected);
      CHECK(all_of(f, search::reduced).seen == expected);
      CHECK(all_of(f, search::hashed).seen == expected);
    }
  }

  TEST_CASE("what is given comes after what was stored before it") {
    shape const raise = [](world& w, words& seen) {
      auto memory = w.allocate<std::uint64_t>(1, "flag");
      at const flag = memory.global();
      quarry::event ready;
      w.start("raises", [&](world_core& self) {
        self.store(flag, std::uint64_t{1}, order::relaxed, scope::system);
        ready.set();
      });
      w.start("looks", [&](world_core& self) {
        seen[0] = self.load(flag, order::relaxed, scope::system);
        seen[1] = ready.is_set() ? 1 : 0;
      });
      w.join();
    };
    std::set<words> const all{{0, 0, 0, 0}, {0, 1, 0, 0}, {1, 0, 0, 0}, {1, 1, 0, 0}};
    CHECK(all_of(raise, search::everything).seen == all);
    CHECK(all_of(raise, search::reduced).seen == all);
  }

  TEST_CASE("a destructor gives back also where the execution is given up") {
    verdict const v = explore({.executions = 300, .most_decisions = 25}, [&](world& w) {
      auto memory = w.allocate<std::uint64_t>(1, "word");
      quarry::semaphore units(1);
      for (int who = 0; who < 2; ++who)
        w.start_task(std::to_string(who), [&](world_core& self) -> task<> {
          for (;;) { // it is given up where it gives back, too
            co_await units.acquire();
            gives_back const mine(units);
            self.fetch_add(memory.global(), std::uint64_t{1}, order::relaxed, scope::system);
          }
        });
      w.join();
    });
    CHECK_MESSAGE(!v.failure, v.to_string());
    CHECK(v.inconclusive == v.executions);
    CHECK(v.executions == 300);
  }

  TEST_CASE("who asks again and again comes to an end") {
    verdict const v = explore({.executions = 300}, [](world& w) {
      quarry::event ready;
      w.start("spins", [&](world_core&) {
        while (!ready.is_set()) {
        }
      });
      w.start("sets", [&](world_core&) { ready.set(); });
      w.join();
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("work-items may give, too") {
    verdict const v = explore({.executions = 300}, [](world& w) {
      explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
      quarry::event ready;
      quarry::semaphore units(0);
      auto launched = gpu.launch({.work_items = 2, .work_items_per_group = 2}, raise{},
                                 std::ref(ready), std::ref(units));
      while (!ready.is_set()) {
      }
      launched.wait().or_throw();
      w.check(units.try_acquire() && units.try_acquire() && !units.try_acquire(), "two units");
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("so does who asks again and again whether a kernel has ended") {
    std::set<bool> first_answers;
    verdict const v = explore({.executions = 300}, [&](world& w) {
      explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
      auto memory = gpu.allocate<std::uint32_t>(32, "words");
      auto launched =
          gpu.launch({.work_items = 32, .work_items_per_group = 32}, fill{}, memory.global());
      bool is_done = launched.is_done();
      first_answers.insert(is_done);
      while (!is_done)
        is_done = launched.is_done();
      launched.wait().or_throw();
    });
    CHECK_MESSAGE(v, v.to_string());
    CHECK(first_answers.size() == 2);
  }
}

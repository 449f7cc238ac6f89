// SPDX-License-Identifier: Apache-2.0
// Exploration of actors that wait with what has an order, or has none: events, latches, barriers.
#include "agents.hpp"
#include "explored_ends.hpp"
#include "repetitions.hpp"

#include <quarry/barrier.hpp>
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/event.hpp>
#include <quarry/latch.hpp>
#include <quarry/nursery.hpp>
#include <quarry/random_bits.hpp>
#include <quarry/strand.hpp>
#include <quarry/yield.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace quarry_test;

namespace {

constexpr search all_searches[] = {search::everything, search::reduced, search::hashed};

void start(world& w, std::string name, std::function<task<>()> f) {
  w.start_task(std::move(name), [f = std::move(f)](world_core&) { return f(); });
}

/// What an exhaustive exploration of the world comes to, whatever is left out.
void check_kind(std::string const& kind, std::function<void(world&)> const& f) {
  for (search const how : all_searches) {
    explore_options o = options_of(how, {});
    o.diagnoses = o.keeps_failures = false;
    verdict const v = explore(o, f);
    CHECK_MESSAGE((v.failure ? v.failure->kind : "") == kind, v.to_string());
  }
}

/// What one of a few actors does: with one of two events, a latch for two, or a word.
enum class does : std::uint8_t { set, reset, wait, count_down, add };
struct program_step {
  does what;
  std::size_t which;
};
using program = std::vector<std::vector<program_step>>; ///< by actor

program random_program(random_bits& bits) {
  constexpr does likely[] = {does::set,  does::set,        does::reset,      does::wait,
                             does::wait, does::count_down, does::count_down, does::add};
  program p(3);
  for (auto& steps : p)
    for (std::uint32_t n = 1 + bits.below(3); n != 0; --n)
      steps.push_back({likely[bits.below(std::size(likely))], bits.below(2)});
  return p;
}

struct shared_things {
  explicit shared_things(world& w) : words(w.allocate<std::uint64_t>(32, "words")) {}
  buffer<std::uint64_t> words;
  event events[2];
  latch two{2};
};

task<> act(shared_things& x, world_core& self, std::vector<program_step> const& steps,
           std::uint64_t& saw) {
  for (program_step const s : steps)
    switch (s.what) {
    case does::set:
      x.events[s.which].set();
      break;
    case does::reset:
      x.events[s.which].reset();
      break;
    case does::wait:
      co_await x.events[s.which].wait();
      break;
    case does::count_down:
      try {
        x.two.count_down();
      } catch (std::invalid_argument const&) {
        saw = 8 * saw + 7;
      }
      break;
    case does::add:
      saw = 8 * saw + 1 +
            self.fetch_add(x.words.global() + 16 * s.which, 1, order::acq_rel, scope::system);
      break;
    }
}

struct ends {
  std::string failure; ///< its kind; then `seen` is not all there is
  std::set<words> seen;
  bool operator==(ends const& other) const {
    return failure == other.failure && (!failure.empty() || seen == other.seen);
  }
};

ends ends_of(program const& p, search how) {
  explore_options o = options_of(how, {});
  o.shrinks = o.diagnoses = o.keeps_failures = false;
  ends e;
  verdict const v = explore(o, [&](world& w) {
    shared_things x(w);
    words seen(p.size());
    for (std::size_t who = 0; who < p.size(); ++who)
      w.start_task(std::to_string(who),
                   [&, who](world_core& self) { return act(x, self, p[who], seen[who]); });
    w.join();
    e.seen.insert(seen);
  });
  CHECK((v.failure || v.is_complete));
  e.failure = v.failure ? v.failure->kind : "";
  return e;
}

} // namespace

TEST_SUITE("emu.explore_events") {
  TEST_CASE("a wait may come before a reset, or after it") {
    check_kind("deadlock", [](world& w) {
      event e;
      start(w, "resets", [&]() -> task<> {
        e.set();
        co_await yield();
        e.reset();
      });
      start(w, "waits", [&]() -> task<> { co_await e.wait(); });
      w.join();
    });
    check_kind("deadlock", [](world& w) {
      event one, other;
      start(w, "first", [&]() -> task<> {
        one.set();
        co_await yield();
        one.reset();
        co_await other.wait();
      });
      start(w, "second", [&]() -> task<> {
        other.set();
        co_await one.wait();
      });
      w.join();
    });
  }

  TEST_CASE("a reset may come before a set, or after it") {
    check_kind("deadlock", [](world& w) {
      event e;
      start(w, "resets", [&]() -> task<> {
        e.reset();
        co_return;
      });
      start(w, "sets", [&]() -> task<> {
        e.set();
        co_return;
      });
      w.join();
      start(w, "waits", [&]() -> task<> { co_await e.wait(); });
      w.join();
    });
  }

  TEST_CASE("what resets and waits come to is the same, whatever is left out") {
    shape const what = [](world& w, words& seen) {
      auto memory = w.allocate<std::uint64_t>(1, "word");
      event e;
      e.set();
      for (std::size_t const who : {0U, 1U})
        w.start_task("waits", [&, who](world_core& self) -> task<> {
          co_await e.wait();
          seen[who] = self.load(memory.global(), order::relaxed, scope::system);
        });
      w.start("resets", [&](world_core& self) {
        e.reset();
        self.store(memory.global(), 1, order::relaxed, scope::system);
        e.set();
      });
      w.join();
    };
    explored_all const full = all_of(what, search::everything);
    CHECK(full.seen.size() == 4);
    CHECK(all_of(what, search::reduced).seen == full.seen);
    CHECK(all_of(what, search::hashed).seen == full.seen);
  }

  TEST_CASE("waits and sets of an event that nobody resets are not tried in every order") {
    shape const passes_on = [](world& w, words& seen) {
      event e[3];
      e[0].set();
      for (std::size_t const i : {0U, 1U})
        start(w, "passes on", [&, i]() -> task<> {
          co_await e[i].wait();
          e[i + 1].set();
          ++seen[i];
        });
      w.join();
    };
    CHECK(all_of(passes_on, search::reduced).executions <
          all_of(passes_on, search::everything).executions);
  }

  TEST_CASE("whoever of three comes last to what is for two is found") {
    for (search const how : all_searches) {
      shape const meet = [&](world& w, words& seen) {
        latch two(2);
        for (std::size_t who = 0; who < 3; ++who)
          start(w, std::to_string(who), [&, who]() -> task<> {
            try {
              two.count_down();
            } catch (std::invalid_argument const&) {
              seen[who] = 1;
            }
            co_return;
          });
        w.join();
      };
      CHECK(all_of(meet, how).seen.size() == 3);
    }
  }

  TEST_CASE("whoever of three finds nobody left to meet is found") {
    for (search const how : all_searches) {
      std::set<std::size_t> alone;
      shape const meet = [&](world& w, words&) {
        barrier two(2);
        std::size_t met = 0, sum = 0;
        for (std::size_t who = 0; who < 3; ++who)
          start(w, std::to_string(who), [&, who]() -> task<> {
            co_await two.arrive_and_wait();
            sum += who;
            if (++met != 2)
              co_return;
            alone.insert(3 - sum);
            co_await two.arrive_and_wait(); // or that one would wait for ever
          });
        w.join();
      };
      all_of(meet, how);
      CHECK(alone.size() == 3);
    }
  }

  TEST_CASE(
      "which of two children throws first is found, though neither wakes who waits for them") {
    shape const children = [](world& w, words& seen) {
      strand place(w.scheduler(), "place");
      auto const child = [](std::size_t who) -> task<> {
        co_await yield();
        throw std::out_of_range(who == 0 ? "a" : "b");
      };
      nursery n;
      for (std::size_t const who : {0U, 1U})
        n.start(place, child(who), "child");
      try {
        n.wait(w.scheduler()); // asks now and then
      } catch (std::out_of_range const& e) {
        seen[0] = static_cast<std::uint64_t>(e.what()[0]);
      }
    };
    for (search const how : all_searches)
      CHECK(all_of(children, how).seen.size() == 2);
  }

  TEST_CASE("what somebody does behind a meeting may come before the others go on") {
    check_kind("deadlock", [](world& w) {
      event e;
      barrier both(2);
      e.set();
      start(w, "resets", [&]() -> task<> {
        co_await both.arrive_and_wait();
        e.reset();
      });
      start(w, "waits", [&]() -> task<> {
        co_await both.arrive_and_wait();
        co_await e.wait();
      });
      w.join();
    });
    check_kind("deadlock", [](world& w) {
      event one, other, e;
      e.set();
      start(w, "resets", [&]() -> task<> {
        one.set();
        co_await other.wait();
        e.reset();
      });
      start(w, "waits", [&]() -> task<> {
        other.set();
        co_await one.wait();
        co_await e.wait();
      });
      w.join();
    });
  }

  TEST_CASE("between a set and a wait somebody may reset") {
    check_kind("deadlock", [](world& w) {
      event e;
      start(w, "waits", [&]() -> task<> {
        e.set();
        co_await e.wait();
      });
      start(w, "resets", [&]() -> task<> {
        e.reset();
        co_return;
      });
      w.join();
    });
  }

  TEST_CASE("whoever counts down too far is found") {
    check_kind("exception", [](world& w) {
      latch l(3);
      start(w, "throws", [&]() -> task<> {
        l.count_down();
        l.count_down();
        co_return;
      });
      start(w, "catches", [&]() -> task<> {
        try {
          l.count_down();
          l.count_down();
        } catch (std::invalid_argument const&) { // it is the other one that is looked for
        }
        co_return;
      });
      w.join();
    });
  }

  TEST_CASE("what random programs come to is the same, whatever is left out") {
    int deadlocks = 0, several = 0, long_ones = 0;
    int const count = quarry_test::fewer(300);
    for (int seed = 0; seed < count; ++seed) {
      CAPTURE(seed);
      random_bits bits(random_bits::mixed(static_cast<std::uint64_t>(seed)));
      program const p = random_program(bits);
      ends const full = ends_of(p, search::reduced);
      CHECK(ends_of(p, search::hashed) == full);
      std::size_t steps = 0;
      for (auto const& of_actor : p)
        steps += of_actor.size();
      if (steps <= 6) // of nine there are ten thousands of executions
        CHECK(ends_of(p, search::everything) == full);
      else
        ++long_ones;
      deadlocks += full.failure == "deadlock" ? 1 : 0;
      several += full.failure.empty() && full.seen.size() > 1 ? 1 : 0;
    }
    CHECK(deadlocks > count / 15);
    CHECK(several > count / 15);
    CHECK(long_ones < count / 2);
  }
}

// SPDX-License-Identifier: Apache-2.0
#include <quarry/boring.hpp>
#include <quarry/event.hpp>
#include <quarry/nursery.hpp>
#include <quarry/sequential_scheduler.hpp>
#include <quarry/sync_wait.hpp>
#include <quarry/this_actor.hpp>
#include <quarry/yield.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>

using namespace quarry;

namespace {

/// A plain function with decision points, as a memory operation is one.
void write_slowly(executor& s, actor& self, std::string& log, char what) {
  for (int i = 0; i < 3; ++i) {
    s.decision_point(self);
    log.push_back(what);
  }
}

task<> writer(std::string& log, char what) {
  actor& self = co_await this_actor();
  write_slowly(self.home->owner(), self, log, what);
}

struct outcome {
  std::string log;
  std::uint64_t hash;
};

outcome three_writers(std::optional<std::uint64_t> seed) {
  sequential_scheduler s({.seed = seed});
  strand a(s, "a");
  strand b(s, "b");
  std::string log;
  nursery n;
  n.start(a, writer(log, 'x'), "x");
  n.start(a, writer(log, 'y'), "y");
  n.start(b, writer(log, 'z'), "z");
  n.wait(s);
  return {log, s.trace_hash()};
}

void throw_and_switch(executor& s, actor& self, int me, bool& ok) {
  for (int i = 0; i < 10; ++i) {
    try {
      s.decision_point(self);
      throw me * 100 + i;
    } catch (int caught) {
      s.decision_point(self); // another's throw and catch come in between
      ok = ok && caught == me * 100 + i;
      try {
        throw;
      } catch (int again) {
        s.decision_point(self);
        ok = ok && again == me * 100 + i && std::uncaught_exceptions() == 0;
      }
    }
  }
}

task<> thrower(int me, bool& ok) {
  actor& self = co_await this_actor();
  throw_and_switch(self.home->owner(), self, me, ok);
}

struct unwinder {
  executor& s;
  actor& self;
  bool& ok;
  ~unwinder() {
    // Switching while an exception is under way: its count must come back with the fiber.
    int const before = std::uncaught_exceptions();
    s.decision_point(self);
    ok = ok && std::uncaught_exceptions() == before;
  }
};

task<> unwinds_slowly(bool& ok) {
  actor& self = co_await this_actor();
  for (int i = 0; i < 5; ++i) {
    try {
      unwinder const u{self.home->owner(), self, ok};
      throw i;
    } catch (int) {
      self.home->owner().decision_point(self);
    }
  }
}

struct counted {
  explicit counted(int& c) : count(c) { ++count; }
  counted(counted const&) = delete;
  ~counted() { --count; }
  int& count;
};

void spin(executor& s, actor& self, int& alive, int depth) {
  counted const local(alive);
  if (depth != 0)
    spin(s, self, alive, depth - 1);
  while (alive > 0) // always
    s.decision_point(self);
}

task<> spins_for_ever(int& alive) {
  counted const local(alive);
  actor& self = co_await this_actor();
  spin(self.home->owner(), self, alive, 10);
}

task<> waits_inside(int& alive) {
  co_await spins_for_ever(alive);
}

/// Does not let itself be unwound.
task<> swallow_all(int& alive) {
  counted const local(alive);
  actor& self = co_await this_actor();
  for (;;)
    try {
      self.home->owner().decision_point(self);
    } catch (...) { // NOLINT(bugprone-empty-catch): what is tested
    }
}

task<> wait_on(event& e) {
  co_await e.wait();
}

task<> set(event& e) {
  e.set();
  co_return;
}

} // namespace

TEST_SUITE("lib.sequential_scheduler") {
  TEST_CASE("a decision point inside a plain function switches, in turn without a seed") {
    CHECK(three_writers(std::nullopt).log == "xyzxyzxyz");
  }

  TEST_CASE("the same seed gives the same execution, different seeds different ones") {
    std::set<std::string> logs;
    std::set<std::uint64_t> hashes;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      outcome const first = three_writers(seed);
      outcome const second = three_writers(seed);
      CHECK(first.log == second.log);
      CHECK(first.hash == second.hash);
      CHECK(first.log.size() == 9);
      logs.insert(first.log);
      hashes.insert(first.hash);
    }
    CHECK(logs.size() > 20);
    CHECK(hashes.size() >= logs.size());
  }

  TEST_CASE("what is no choice of an actor follows the seed, too, and is boring without one") {
    sequential_scheduler in_turn;
    CHECK(in_turn.pick(3, choice_kind::message) == 0);
    std::set<unsigned> picked;
    std::set<std::uint64_t> hashes;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      sequential_scheduler first({.seed = seed}), second({.seed = seed});
      unsigned const which = first.pick(3, choice_kind::message);
      CHECK(second.pick(3, choice_kind::message) == which);
      CHECK(first.trace_hash() == second.trace_hash());
      CHECK(first.decision_count() == 0);
      picked.insert(which);
      hashes.insert(first.trace_hash());
    }
    CHECK(picked == std::set{0U, 1U, 2U});
    CHECK(hashes.size() == 3);
  }

  TEST_CASE("every actor catches its own exceptions, whoever threw in between") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      CAPTURE(seed);
      sequential_scheduler s({.seed = seed});
      strand place(s, "place");
      bool ok[3] = {true, true, true};
      bool unwound = true;
      nursery n;
      for (int i = 0; i < 3; ++i)
        n.start(place, thrower(i, ok[i]), "thrower");
      n.start(place, unwinds_slowly(unwound), "unwinder");
      n.wait(s);
      CHECK(ok[0]);
      CHECK(ok[1]);
      CHECK(ok[2]);
      CHECK(unwound);
    }
  }

  TEST_CASE("an execution that is given up unwinds actors in mid-function") {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      sequential_scheduler s({.seed = seed, .most_decisions = 500});
      int alive = 0;
      event never;
      {
        strand place(s, "place");
        place.spawn(waits_inside(alive), "first");
        place.spawn(waits_inside(alive), "second");
        place.spawn(wait_on(never), "parked");
        CHECK_FALSE(s.run_until([] { return false; }));
        CHECK(s.decision_count() == 500);
        CHECK(alive == 24);
      }
      CHECK(alive == 0);
    }
  }

  TEST_CASE("one that does not let itself be unwound is left, once, and what it owns is kept") {
    std::string left;
    sequential_scheduler s({.most_decisions = 50,
                            .most_unwinding = 100,
                            .when_left = [&](actor const& a) { left += a.name() + " "; }});
    int alive = 0;
    {
      strand place(s, "place");
      place.spawn(swallow_all(alive), "swallower");
      place.spawn(spins_for_ever(alive), "other");
      CHECK_FALSE(s.run_until([] { return false; }));
      CHECK(alive > 1);
    }
    CHECK(left == "swallower ");
    CHECK(alive == 1);
    // The next ones have fibers of their own.
    boring choices;
    s.begin(choices);
    bool ran = false;
    s.run([&] { ran = true; });
    CHECK(ran);
  }

  TEST_CASE("an actor that was to go on, and is destroyed instead, is forgotten") {
    sequential_scheduler s({.most_decisions = 3});
    strand other(s, "other");
    {
      event e;
      strand place(s, "place");
      place.spawn(wait_on(e), "waiter");
      CHECK(s.run_until([&] { return s.decision_count() == 1; }));
      e.set(); // ready, but it never runs
    }
    bool ran = false;
    auto const note = [](bool& r) -> task<> {
      r = true;
      co_return;
    };
    other.spawn(note(ran), "note");
    CHECK(s.run_until([&] { return ran; }));
  }

  TEST_CASE("run makes its function an actor that waits by parking") {
    sequential_scheduler s;
    strand place(s, "place");
    int result = 0;
    s.run([&] {
      auto const answer = []() -> task<int> {
        co_await yield();
        co_return 42;
      };
      result = sync_wait(place, answer());
    });
    CHECK(result == 42);
    CHECK_THROWS_WITH_AS(s.run([] { throw std::logic_error("from the host"); }), "from the host",
                         std::logic_error);
  }

  TEST_CASE("run's function learns that it waits in vain, and can wait for something else then") {
    sequential_scheduler s;
    strand place(s, "place");
    event e;
    place.spawn(wait_on(e), "waiter");
    bool first = true;
    bool second = false;
    s.run([&] {
      first = s.run_until([] { return false; });
      place.spawn(set(e), "setter");
      second = s.run_until([&] { return s.report_now().rows.empty(); });
    });
    CHECK_FALSE(first);
    CHECK(second);
  }

  TEST_CASE("where hosts are given up, what another one has thrown is told") {
    int alive = 0;
    sequential_scheduler s({.most_decisions = 100});
    strand place(s, "place");
    place.spawn(spins_for_ever(alive), "spinner");
    CHECK_THROWS_WITH_AS(s.run({[] { throw std::runtime_error("no such file"); },
                                [&] { static_cast<void>(s.run_until([] { return false; })); }}),
                         doctest::Contains("host threw: no such file\n"), stall_error);
  }

  TEST_CASE("a host that spins for ever is given up with a report") {
    int alive = 0;
    sequential_scheduler s({.most_decisions = 100});
    strand place(s, "place");
    place.spawn(spins_for_ever(alive), "spinner");
    std::string text;
    try {
      s.run([&] { CHECK_FALSE(s.run_until([] { return false; })); });
    } catch (std::runtime_error const& error) {
      text = error.what();
    }
    CAPTURE(text);
    CHECK(text.find("100 decisions taken") != std::string::npos);
    CHECK(text.find("spinner") != std::string::npos);
    CHECK(text.find("host") != std::string::npos);
  }

  TEST_CASE("a function that the scheduler asks may wait itself") {
    bool has_asked = false;
    strand* at = nullptr;
    int waited = 0;
    auto const wait = [&] {
      auto const count = [](int& n) -> task<> {
        co_await yield();
        ++n;
      };
      sync_wait(*at, count(waited));
    };
    sequential_scheduler s({.when_nobody_can = [&] {
      if (std::exchange(has_asked, true))
        return false;
      wait();
      return true;
    }});
    strand place(s, "place");
    at = &place;
    bool is_first = true;
    CHECK(s.run_until([&] {
      if (std::exchange(is_first, false))
        wait();
      return true;
    }));
    CHECK(waited == 1);
    event never;
    CHECK_THROWS_AS(sync_wait(place, wait_on(never)), stall_error);
    CHECK(waited == 2);
    never.set();
    static_cast<void>(s.run_until([&] { return s.report_now().rows.empty(); }));
  }
}

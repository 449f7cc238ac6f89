// SPDX-License-Identifier: Apache-2.0
#include "in_child.hpp"
#include "scheduler_contract.hpp"

#include <quarry/event.hpp>
#include <quarry/nursery.hpp>
#include <quarry/sync_wait.hpp>
#include <quarry/yield.hpp>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

using namespace quarry;
using namespace quarry_test;

namespace {

task<> count_up(std::atomic<int>& counter) {
  co_await yield();
  ++counter;
}

task<> fail(char const* what, int after) {
  for (int i = 0; i < after; ++i)
    co_await yield();
  throw std::runtime_error(what);
}

task<int> tree(strand& a, strand& b, int depth, std::atomic<int>& leaves) {
  if (depth == 0) {
    ++leaves;
    co_return 0;
  }
  nursery n;
  auto const child = [](strand& x, strand& y, int d, std::atomic<int>& l) -> task<> {
    static_cast<void>(co_await tree(x, y, d, l));
  };
  n.start(a, child(b, a, depth - 1, leaves), "left");
  n.start(b, child(a, b, depth - 1, leaves), "right");
  co_await n.join();
  co_return leaves;
}

task<> wait_on(event& e) {
  co_await e.wait();
}

task<> yields_for_ever(std::atomic<int>& alive) {
  struct here {
    explicit here(std::atomic<int>& n) : count(n) { ++count; }
    here(here const&) = delete;
    ~here() { --count; }
    std::atomic<int>& count;
  } const now(alive);
  for (;;)
    co_await yield();
}

task<> starts_and_throws(nursery& n, strand& place, std::atomic<int>& alive) {
  n.start(place, yields_for_ever(alive), "child");
  while (alive == 0)
    co_await yield();
  throw std::runtime_error("between the two");
}

task<> throws_beside_a_child(strand& place, std::atomic<int>& alive) {
  nursery n;
  co_await starts_and_throws(n, place, alive);
}

task<> starts_beside_itself(nursery& n, strand& place, std::atomic<int>& alive, event& done) {
  n.start(place, count_up(alive), "counts");
  n.start(place, count_up(alive), "counts");
  while (alive != 2)
    co_await yield();
  alive = 0;
  done.set();
}

task<> throws_after_another_has_started(strand& own, strand& other, std::atomic<int>& alive) {
  nursery n;
  event done;
  n.start(other, starts_beside_itself(n, other, alive, done), "starts others");
  co_await done.wait();
  co_await n.join();
  co_await starts_and_throws(n, own, alive);
}

class says_when_it_goes {
public:
  says_when_it_goes(std::vector<std::string>& all, char const* who) : all_(all), who_(who) {}
  says_when_it_goes(says_when_it_goes const&) = delete;
  ~says_when_it_goes() { all_.emplace_back(who_); }

private:
  std::vector<std::string>& all_;
  char const* who_;
};

task<> waits_for_ever(event& never_set, std::vector<std::string>& gone) {
  says_when_it_goes const here(gone, "child");
  co_await never_set.wait();
}

task<> joins_for_ever(strand& place, event& never_set, std::vector<std::string>& gone) {
  says_when_it_goes const here(gone, "parent");
  nursery n;
  n.start(place, waits_for_ever(never_set, gone), "child");
  co_await n.join();
}

task<> join_twice(strand& place, std::atomic<int>& counter, int& caught) {
  nursery n;
  n.start(place, fail("first", 0), "fails");
  n.start(place, count_up(counter), "counts");
  try {
    co_await n.join();
  } catch (std::runtime_error const&) {
    ++caught;
  }
  n.start(place, count_up(counter), "counts again");
  co_await n.join();
}

} // namespace

TEST_SUITE("lib.nursery") {
  TEST_CASE("join and wait end when all children of all strands have ended") {
    with_every_scheduler([](executor& s) {
      strand a(s, "a");
      strand b(s, "b");
      std::atomic<int> counter{0};
      nursery n;
      for (int i = 0; i < 100; ++i)
        n.start(i % 2 == 0 ? a : b, count_up(counter), "child");
      n.wait(s);
      CHECK(counter == 100);
    });
  }

  TEST_CASE("nurseries nest") {
    with_every_scheduler([](executor& s) {
      strand a(s, "a");
      strand b(s, "b");
      std::atomic<int> leaves{0};
      CHECK(sync_wait(a, tree(a, b, 6, leaves)) == 64);
    });
  }

  TEST_CASE("the first exception is rethrown once, after all children have ended") {
    with_every_scheduler([](executor& s) {
      strand place(s, "place");
      std::atomic<int> counter{0};
      int caught = 0;
      sync_wait(place, join_twice(place, counter, caught));
      CHECK(caught == 1);
      CHECK(counter == 2);
    });
    native_scheduler s({.threads = 1});
    strand place(s, "place");
    nursery n;
    n.start(place, fail("late", 5), "late");
    n.start(place, fail("early", 1), "early");
    CHECK_THROWS_WITH_AS(n.wait(s), "early", std::runtime_error);
    CHECK_NOTHROW(n.wait(s));
  }

  TEST_CASE("a wait in vain throws the report, and the child may still end later") {
    with_every_scheduler(
        [](executor& s) {
          strand place(s, "place");
          event e;
          {
            nursery n;
            n.start(place, wait_on(e), "the one that waits");
            std::string text;
            try {
              n.wait(s);
            } catch (std::runtime_error const& error) {
              text = error.what();
            }
            CAPTURE(text);
            CHECK(text.find("the one that waits") != std::string::npos);
            CHECK(text.find("event at nursery_test.cpp:") != std::string::npos);
          }
          e.set();
          CHECK_FALSE(s.run_until([] { return false; }));
          CHECK(s.report_now().rows.empty());
        },
        std::chrono::milliseconds(20));
  }

  TEST_CASE("who waits in vain is told what a child has thrown") {
    with_every_scheduler(
        [](executor& s) {
          strand place(s, "place");
          event e;
          nursery n;
          n.start(place, fail("no such file", 0), "reader");
          n.start(place, wait_on(e), "waits for what it reads");
          std::string text;
          try {
            n.wait(s);
          } catch (stall_error const& error) {
            text = error.what();
          }
          CAPTURE(text);
          CHECK(text.starts_with("nursery: 1 children do not come to an end; reader threw: no such "
                                 "file\n"));
          e.set();
          CHECK_THROWS_WITH_AS(n.wait(s), "no such file", std::runtime_error);
        },
        std::chrono::milliseconds(20));
  }

  TEST_CASE("children on their parent's strand go with it when an exception leaves it") {
    with_every_scheduler([](executor& s) {
      strand place(s, "place");
      std::atomic<int> alive{0};
      CHECK_THROWS_WITH_AS(sync_wait(place, throws_beside_a_child(place, alive)), "between the two",
                           std::runtime_error);
      CHECK(alive == 0);
    });
  }

  TEST_CASE("so they do where others have started children elsewhere before") {
    with_every_scheduler([](executor& s) {
      strand a(s, "a");
      strand b(s, "b");
      std::atomic<int> alive{0};
      CHECK_THROWS_WITH_AS(sync_wait(a, throws_after_another_has_started(a, b, alive)),
                           "between the two", std::runtime_error);
      CHECK(alive == 0);
    });
  }

  TEST_CASE("where a strand goes, a child's frame does so before its parent's") {
    with_every_scheduler(
        [](executor& s) {
          event never_set;
          std::vector<std::string> gone;
          {
            strand place(s, "place");
            place.spawn(joins_for_ever(place, never_set, gone), "parent");
            CHECK_FALSE(s.run_until([] { return false; }));
          }
          CHECK(gone == std::vector<std::string>{"child", "parent"});
        },
        std::chrono::milliseconds(20));
  }

  TEST_CASE("a child that outlives its nursery aborts the process") {
    aborts(
        [] {
          sequential_scheduler s;
          strand place(s, "place");
          std::atomic<int> counter{0};
          {
            nursery n;
            n.start(place, count_up(counter), "orphan");
          }
          static_cast<void>(s.run_until([] { return false; }));
        },
        "the nursery of \"orphan\" died before it was joined");
  }
}

// SPDX-License-Identifier: Apache-2.0
// What explore() says would mend a failure, and what could be weaker.
#include "message_world.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace {

using namespace quarry_test;

/// A race that shows only now and then once the other one, about y, is mended.
struct hands_over_twice {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> x,
                    global<std::uint32_t> y) const {
    wf.store(x, 2U);
    wf.fence(order::acquire, scope::agent);
    wf.store(y, 5U, order::relaxed, scope::agent);
    wf.store(x, 5U);
    co_return;
  }
};
struct looks_behind_a_flag {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> x,
                    global<std::uint32_t> y) const {
    std::uint32_t const flag = wf.load(y, order::acquire, scope::agent);
    if (flag == 0)
      co_return;
    wf.fence(order::release, scope::agent);
    static_cast<void>(wf.load(x));
  }
};

struct reads_behind_a_flag {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> data, global<std::uint32_t> flag,
                    world* w) const {
    auto set =
        wf.wait_until(flag, [](std::uint32_t v) { return v == 1; }, order::acquire, scope::system);
    static_cast<void>(co_await set);
    w->check(wf.load(data, order::relaxed, scope::system) == 1, "the flag has overtaken it");
  }
};

/// A flag without a release, and beside it, in one of some hundred executions, an error that has
/// nothing to do with orders.
void two_errors(world& w) {
  constexpr scope far = scope::system;
  three_words words(w);
  auto const data = words[0], flag = words[1], count = words[2];
  w.start("writer", [=](world_core& self) {
    self.store(data, 1);
    self.store(flag, 1, order::relaxed, far);
    for (int i = 0; i < 8; ++i)
      self.fetch_add(count, 1, order::acq_rel, far);
  });
  w.start("reader", [=, &w](world_core& self) {
    if (self.load(flag, order::acquire, far) != 0)
      self.load(data);
    std::uint32_t i = 1;
    while (i <= 5 && self.load(count, order::acquire, far) == i)
      ++i;
    w.check(i <= 5, "five in a row");
  });
  w.join();
}

/// A world that throws what it has found while others wait for it.
void throw_before_joining(world& w, std::uint32_t waiters) {
  constexpr scope far = scope::system;
  three_words words(w);
  auto const data = words[0], flag = words[1], go = words[2];
  w.start("writer", [=](world_core& self) {
    self.store(data, 1);
    self.store(flag, 1, order::relaxed, far);
  });
  for (std::uint32_t i = 0; i < waiters; ++i)
    w.start("waiter", [=](world_core& self) {
      while (self.load(go, order::acquire, far) == 0) {
      }
    });
  for (int i = 0; i < 4; ++i)
    if (w.host().load(flag, order::acquire, far) == 1 && w.host().load(data) == 0)
      throw std::runtime_error("lost message");
  w.host().store(go, 1, order::release, far);
  w.join();
}

} // namespace

TEST_SUITE("emu.explore_mended") {
  TEST_CASE("a failure names what would mend it, and no more than that") {
    auto const mended = [](message_orders h, bool detects_races = true) {
      verdict const v = explore_message(h, {.detects_races = detects_races});
      REQUIRE(v.failure);
      REQUIRE(v.failure->mended);
      CHECK(v.failure->mended->is_possible);
      return v.failure->mended->changes;
    };
    for (bool const detects_races : {true, false}) {
      auto const release = mended({order::relaxed, order::acquire}, detects_races);
      REQUIRE(release.size() == 1);
      CHECK(release[0].at.what == operation_kind::store);
      CHECK(release[0].how == order::release);
      auto const acquire = mended({order::release, order::relaxed}, detects_races);
      REQUIRE(acquire.size() == 1);
      CHECK(acquire[0].at.what == operation_kind::load);
      CHECK(acquire[0].how == order::acquire);
      CHECK(mended({order::relaxed, order::relaxed}, detects_races).size() == 2);
    }
  }

  TEST_CASE("what mends a failure in few executions by chance is not named") {
    verdict const v = explore({.executions = 3'000}, [](world& w) {
      explored_agent reader(w.scheduler(), {.compute_units = 2, .wavefront_size = 32});
      explored_agent writer(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
      auto m = w.allocate<std::uint32_t>(32, "m");
      launch_config const one{.work_items = 32, .work_items_per_group = 32};
      w.start("writes", [&](world_core&) {
        static_cast<void>(writer.run(one, hands_over_twice{}, m.global(), m.global() + 16));
      });
      w.start("reads", [&](world_core&) {
        static_cast<void>(reader.run(one, looks_behind_a_flag{}, m.global(), m.global() + 16));
      });
      w.join();
    });
    REQUIRE(v.failure);
    REQUIRE(v.failure->mended);
    REQUIRE(v.failure->mended->is_possible);
    CHECK(v.failure->mended->executions >= 2'000);
    auto const& changes = v.failure->mended->changes;
    CHECK_MESSAGE(std::any_of(changes.begin(), changes.end(),
                              [](adjustment const& a) {
                                return a.at.what == operation_kind::store && a.at.how &&
                                       a.how == order::release && a.far == scope::system;
                              }),
                  v.to_string());
  }

  TEST_CASE(
      "what is said to mend a failure has been tried in as many as were asked for, or in all") {
    for (std::uint64_t const executions : {1'000U, 100'000U}) {
      verdict const v = explore({.executions = executions}, [](world& w) {
        pass_message(w, {order::relaxed, order::acquire});
      });
      REQUIRE(v.failure);
      REQUIRE(v.failure->mended);
      CHECK(v.failure->mended->executions == executions); // they are short
      CHECK(v.failure->mended->is_complete);              // there are few
      CHECK(v.to_string().find(" executions, nor in any other):\n") != std::string::npos);
    }
  }

  TEST_CASE("one operation that does alone is named, and none that makes up for it") {
    verdict const v = explore({.detects_races = false}, [](world& w) {
      three_words words(w);
      auto const data = words[0], flag = words[1], other = words[2];
      w.start("writer", [=](world_core& self) {
        self.store(other, 1, order::relaxed, scope::system);
        self.store(data, 1, order::relaxed, scope::system);
        self.store(flag, 1, order::relaxed, scope::system);
      });
      w.start("reader", [=, &w](world_core& self) {
        static_cast<void>(self.load(other, order::acquire, scope::system));
        if (self.load(flag, order::acquire, scope::system) == 1)
          w.check(self.load(data, order::relaxed, scope::system) == 1, "the old data");
      });
      w.join();
    });
    REQUIRE(v.failure);
    REQUIRE(v.failure->mended);
    auto const& changes = v.failure->mended->changes;
    REQUIRE_MESSAGE(changes.size() == 1, v.to_string());
    CHECK(changes[0].at.what == operation_kind::store);
    CHECK(changes[0].how == order::release);
    CHECK(v.failure->mended->is_complete);
  }

  TEST_CASE("what is acquired behind a relaxed look at the flag does not do for it") {
    auto const explored = [](order look) {
      return explore({.keeps_failures = false}, [look](world& w) {
        three_words words(w);
        auto const data = words[0], flag = words[1], ticket = words[2];
        constexpr scope far = scope::system;
        w.start("writer", [=](world_core& self) {
          self.store(data, 1, order::relaxed, far);
          self.store(flag, 1, order::release, far);
        });
        w.start("reader", [=, &w](world_core& self) {
          static_cast<void>(self.load(data, order::relaxed, far));
          if (self.load(flag, look, far) == 0)
            return;
          self.fetch_add(ticket, 1, order::acq_rel, far);
          w.check(self.load(data, order::relaxed, far) == 1, "the old data");
        });
        w.join();
      });
    };
    verdict const v = explored(order::relaxed);
    REQUIRE(v.failure);
    REQUIRE(v.failure->mended);
    auto const& changes = v.failure->mended->changes;
    REQUIRE_MESSAGE(changes.size() == 1, v.to_string());
    CHECK(changes[0].at.what == operation_kind::load);
    CHECK(changes[0].how == order::acquire);
    CHECK(explored(order::acquire));
  }

  TEST_CASE("of several that do alone the fence is named that stands there as another one") {
    verdict const v = explore({.keeps_failures = false}, [](world& w) {
      three_words words(w);
      auto const data = words[0], flag = words[1];
      constexpr scope far = scope::system;
      w.start("writer", [=](world_core& self) {
        self.store(data, 1, order::relaxed, far);
        self.store(flag, 1, order::release, far);
      });
      w.start("reader", [=, &w](world_core& self) {
        if (self.load(flag, order::relaxed, far) != 1)
          return;
        self.fence(order::release, far); // should acquire; so might the load before it
        w.check(self.load(data, order::relaxed, far) == 1, "stale");
      });
      w.join();
    });
    REQUIRE(v.failure);
    REQUIRE(v.failure->mended);
    auto const& changes = v.failure->mended->changes;
    REQUIRE_MESSAGE(changes.size() == 1, v.to_string());
    CHECK_MESSAGE(changes[0].at.what == operation_kind::fence, v.to_string());
    CHECK(acquires(changes[0].how));
  }

  TEST_CASE("of several that do alone that one is named which the race's report calls too weak") {
    verdict const v = explore({.keeps_failures = false}, [](world& w) {
      three_words words(w);
      auto const data = words[0], flag = words[1], ticket = words[2];
      constexpr scope far = scope::system;
      w.start("writer", [=](world_core& self) {
        self.store(data, 1);
        self.fetch_add(ticket, 1, order::release, far);
        self.store(flag, 1, order::release, far);
      });
      w.start("reader", [=](world_core& self) {
        if (self.load(flag, order::relaxed, far) == 0) // should acquire; so might the update
          return;
        self.fetch_add(ticket, 1, order::relaxed, far);
        static_cast<void>(self.load(data));
      });
      w.join();
    });
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "race");
    REQUIRE(v.failure->mended);
    auto const& changes = v.failure->mended->changes;
    REQUIRE_MESSAGE(changes.size() == 1, v.to_string());
    CHECK_MESSAGE(changes[0].at.what == operation_kind::update, v.to_string());
    CHECK(v.failure->report.find("missing  no acquire in reader, " +
                                 quarry::to_string(changes[0].at.where)) != std::string::npos);
  }

  TEST_CASE("what makes a race atomic, and orders nothing, is not said to mend it") {
    verdict const v = explore({.executions = 50}, [](world& w) {
      auto word = w.allocate<std::uint32_t>(1, "word");
      w.start("writer", [at = word.global()](world_core& self) { self.store(at, 1); });
      w.start("reader", [at = word.global()](world_core& self) { self.load(at); });
      w.join();
    });
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "race");
    CHECK(v.to_string().find("but that orders nothing: is a barrier") != std::string::npos);
    CHECK(v.to_string().find("is mended by") == std::string::npos);
  }

  TEST_CASE("what no order mends is said to be so") {
    verdict const v = explore({.executions = 50}, [](world& w) {
      auto word = w.allocate<std::uint32_t>(1, "word");
      for (char const* const name : {"a", "b"})
        w.start(name, [&](world_core& self) { // two steps: increments are lost
          auto const old = self.load(word.global(), order::acquire, scope::system);
          self.store(word.global(), old + 1, order::release, scope::system);
        });
      w.join();
      w.check(w.host().load(word.global()) == 2, "an increment is lost");
    });
    REQUIRE(v.failure);
    REQUIRE(v.failure->mended);
    CHECK(!v.failure->mended->is_possible);
    CHECK(v.to_string().find("look at the logic") != std::string::npos);
  }

  TEST_CASE("orders that are stronger than they need be are named, those that are needed are not") {
    auto const narrowings = [](message_orders h) {
      explore_options o{.narrows = true};
      auto const v = explore_message(h, o);
      CHECK_MESSAGE(v, v.to_string());
      return v.narrowings;
    };
    // Host threads are one agent: its scope would do.
    for (adjustment const& a : narrowings({order::release, order::acquire})) {
      CAPTURE(to_string(a));
      CHECK(a.how == a.at.how);
      CHECK(a.far == scope::agent);
    }
    CHECK(explore_message({}, {.narrows = true})
              .to_string()
              .find("in 300 executions and up to\n  300 of a search:\n") != std::string::npos);
    auto const weaker = narrowings({order::seq_cst, order::acquire});
    auto const is_release = [](adjustment const& a) { return a.how == order::release; };
    CHECK(std::count_if(weaker.begin(), weaker.end(), is_release) == 1);
  }

  TEST_CASE("a host's scope is not narrowed where a GPU may be meant by it") {
    auto const v = explore({.executions = 500, .narrows = true}, [](world& w) {
      explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
      auto words = w.allocate<std::uint32_t>(2, "words");
      auto const data = words.global(), flag = words.global() + 1;
      w.start("writer", [=](world_core& self) {
        self.store(data, 1, order::relaxed, scope::system);
        self.fence(order::acq_rel, scope::system);
        self.store(flag, 1, order::relaxed, scope::system);
      });
      gpu.run({.work_groups = 1, .work_items_per_group = 32}, reads_behind_a_flag{}, data, flag, &w)
          .or_throw();
      w.join();
    });
    CHECK_MESSAGE(v, v.to_string());
    CHECK(std::any_of(v.narrowings.begin(), v.narrowings.end(),
                      [](auto const& a) { return a.how == order::release; }));
    for (adjustment const& a : v.narrowings) {
      CAPTURE(to_string(a));
      CHECK((!a.at.is_hosts || a.far == scope::system));
    }
  }

  TEST_CASE("nor is what fails in another way, whatever is stronger, held against it") {
    verdict const v = explore({.keeps_failures = false}, two_errors);
    REQUIRE(v.failure);
    CHECK(v.failure->kind == "race");
    REQUIRE(v.failure->mended);
    auto const& m = *v.failure->mended;
    REQUIRE_MESSAGE(m.changes.size() == 1, v.to_string());
    CHECK(m.changes[0].at.what == operation_kind::store);
    CHECK(m.changes[0].how == order::release);
    CHECK(m.given_up.empty());
    REQUIRE(m.others.size() == 1);
    CHECK(m.others[0].starts_with("check explore_mended_test.cpp:"));
    CHECK(v.to_string().find("another failure stays, whatever is stronger: check") !=
          std::string::npos);
  }

  TEST_CASE("a failure that leaves actors behind is repeated, shrunk and mended all the same") {
    for (std::uint32_t const waiters : {0U, 3U, 30U}) {
      CAPTURE(waiters);
      verdict const v =
          explore({.executions = 1'000, .detects_races = false, .keeps_failures = false},
                  [waiters](world& w) { throw_before_joining(w, waiters); });
      REQUIRE(v.failure);
      CHECK(v.failure->kind == "exception");
      CHECK_MESSAGE(v.failure->is_repeatable, v.to_string());
      REQUIRE(v.failure->mended);
      auto const& m = *v.failure->mended;
      if (m.is_possible) {
        CHECK_MESSAGE(m.changes.size() == 1, v.to_string());
        CHECK(m.changes[0].how == order::release);
      } else { // under a sanitizer there is room for fewer of them
        CHECK_MESSAGE(m.given_up.find("join() them") != std::string::npos, v.to_string());
        CHECK(v.to_string().find("mends it is not known") != std::string::npos);
      }
    }
  }
}

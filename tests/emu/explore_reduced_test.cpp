// SPDX-License-Identifier: Apache-2.0
// Exhaustive exploration that leaves out what comes to the same.
#include "explored_ends.hpp"
#include "message_world.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace quarry_test;

/// Two actors, a function of (actor, word 0, word 1, what it may tell) each.
template<class One, class Two>
shape two(One one, Two other) {
  return [=](world& w, words& seen) {
    auto memory = w.allocate<std::uint64_t>(16, "words");
    auto const x = memory.global(), y = memory.global() + 8;
    w.start("one", [&](world_core& self) { one(self, x, y, seen[0]); });
    w.start("other", [&](world_core& self) { other(self, x, y, seen[1]); });
    w.join();
    seen[2] = w.host().load(x);
    seen[3] = w.host().load(y);
  };
}

std::vector<named> small_worlds() {
  constexpr auto far = scope::system;
  auto const send = [=](order o) {
    return [=](world_core& self, at x, at y, std::uint64_t&) {
      self.store(x, 1);
      self.store(y, 1, o, far);
    };
  };
  auto const receive = [=](order o) {
    return [=](world_core& self, at x, at y, std::uint64_t& saw) {
      saw = self.load(y, o, far);
      saw = 2 * saw + self.load(x);
    };
  };
  auto const store_and_load = [=](bool is_first, order o) {
    return [=](world_core& self, at x, at y, std::uint64_t& saw) {
      self.store(is_first ? x : y, 1, o == order::acq_rel ? order::release : o, far);
      saw = self.load(is_first ? y : x, o == order::acq_rel ? order::acquire : o, far);
    };
  };
  auto const load_and_store = [=](bool is_first) {
    return [=](world_core& self, at x, at y, std::uint64_t& saw) {
      saw = self.load(is_first ? x : y, order::relaxed, far);
      self.store(is_first ? y : x, 1, order::relaxed, far);
    };
  };
  auto const store_both = [=](bool is_first) {
    return [=](world_core& self, at x, at y, std::uint64_t&) {
      self.store(is_first ? x : y, 1, order::relaxed, far);
      self.store(is_first ? y : x, 2, order::relaxed, far);
    };
  };
  auto const add = [=](order o) {
    return
        [=](world_core& self, at x, at, std::uint64_t& saw) { saw = self.fetch_add(x, 1, o, far); };
  };
  auto const work_alone = [=](bool is_first) {
    return [=](world_core& self, at x, at y, std::uint64_t& saw) {
      at const mine = is_first ? x : y;
      self.store(mine + 1, 5);
      self.store(mine, self.load(mine + 1) + 1);
      saw = self.load(mine);
    };
  };
  auto const fence_between = [=](bool is_sender) {
    return [=](world_core& self, at x, at y, std::uint64_t& saw) {
      if (is_sender) {
        self.store(x, 1);
        self.fence(order::release, far);
        self.store(y, 1, order::relaxed, far);
      } else {
        saw = self.load(y, order::relaxed, far);
        self.fence(order::acquire, far);
        saw = 2 * saw + self.load(x);
      }
    };
  };
  auto const try_once = [=](world_core& self, at x, at, std::uint64_t& saw) {
    std::uint64_t expected = 0;
    saw = self.compare_exchange(x, expected, 1, order::acq_rel, far) ? 1 : 0;
  };
  // A load that sees a delayed store takes along what its writer has done since, if it has.
  auto const release_and_more = [=](world_core& self, at x, at y, std::uint64_t&) {
    self.store(x, 5, order::release, far);
    self.store(y, 1, order::relaxed, far);
    self.store(y + 1, 1, order::relaxed, far);
  };
  auto const look_and_store = [=](bool updates) {
    return [=](world_core& self, at x, at y, std::uint64_t& saw) {
      saw = updates ? self.fetch_add(x, 3, order::relaxed, far) : self.load(x, order::acquire, far);
      saw = 16 * saw + self.load(y + 1, order::relaxed, far);
      self.store(y, 2, order::relaxed, far);
    };
  };
  return {{"taken along by a load", two(release_and_more, look_and_store(false))},
          {"taken along by an update", two(release_and_more, look_and_store(true))},
          {"MP", two(send(order::release), receive(order::acquire))},
          {"MP, relaxed", two(send(order::relaxed), receive(order::relaxed))},
          {"MP, no acquire", two(send(order::release), receive(order::relaxed))},
          {"MP, fences", two(fence_between(true), fence_between(false))},
          {"SB", two(store_and_load(true, order::relaxed), store_and_load(false, order::relaxed))},
          {"SB, acq_rel",
           two(store_and_load(true, order::acq_rel), store_and_load(false, order::acq_rel))},
          {"SB, seq_cst",
           two(store_and_load(true, order::seq_cst), store_and_load(false, order::seq_cst))},
          {"LB", two(load_and_store(true), load_and_store(false))},
          {"2+2W", two(store_both(true), store_both(false))},
          {"two additions", two(add(order::relaxed), add(order::acq_rel))},
          {"each alone", two(work_alone(true), work_alone(false))},
          {"compare and exchange", two(try_once, try_once)}};
}

} // namespace

TEST_SUITE("emu.explore_reduced") {
  TEST_CASE("what small worlds come to is the same, in fewer executions") {
    std::uint64_t full_count = 0, reduced_count = 0, hashed_count = 0;
    for (auto const& [name, what] : small_worlds()) {
      CAPTURE(name);
      explored_all const full = all_of(what, search::everything);
      explored_all const reduced = all_of(what, search::reduced);
      explored_all const hashed = all_of(what, search::hashed);
      CHECK(reduced.seen == full.seen);
      CHECK(hashed.seen == full.seen);
      CHECK(reduced.executions < full.executions);
      CHECK(hashed.executions < full.executions);
      full_count += full.executions;
      reduced_count += reduced.executions;
      hashed_count += hashed.executions;
    }
    MESSAGE(full_count, " executions, reduced ", reduced_count, ", hashed ", hashed_count);
    CHECK(2 * reduced_count < full_count);
    CHECK(2 * hashed_count < full_count);
  }

  TEST_CASE("within a bound of deviations, too, with hashed states") {
    std::uint64_t full_count = 0, hashed_count = 0;
    for (auto const& [name, what] : small_worlds())
      for (std::uint32_t const most : {1U, 2U, 3U}) {
        CAPTURE(name);
        CAPTURE(most);
        explored_all const full = all_of(what, search::everything, {.deviations = most});
        explored_all const hashed = all_of(what, search::hashed, {.deviations = most});
        CHECK(hashed.seen == full.seen);
        CHECK(hashed.executions <= full.executions);
        full_count += full.executions;
        hashed_count += hashed.executions;
      }
    MESSAGE(full_count, " executions, hashed ", hashed_count);
    CHECK(hashed_count < full_count);
  }

  TEST_CASE("within bounds of pre-emptions, and of what is stale, reduced as well") {
    std::uint64_t full_count = 0, reduced_count = 0, hashed_count = 0;
    for (auto const& [name, what] : small_worlds())
      for (search_bounds const& most :
           {search_bounds{.preemptions = 0}, search_bounds{.preemptions = 1},
            search_bounds{.preemptions = 2}, search_bounds{.stale = 0}, search_bounds{.stale = 1},
            search_bounds{.preemptions = 1, .stale = 1}}) {
        CAPTURE(name);
        CAPTURE(to_string(most));
        explored_all const full = all_of(what, search::everything, most);
        explored_all const reduced = all_of(what, search::reduced, most);
        explored_all const hashed = all_of(what, search::hashed, most);
        CHECK(reduced.seen == full.seen);
        CHECK(hashed.seen == full.seen);
        full_count += full.executions;
        reduced_count += reduced.executions;
        hashed_count += hashed.executions;
      }
    MESSAGE(full_count, " executions, reduced ", reduced_count, ", hashed ", hashed_count);
    CHECK(reduced_count < full_count);
    CHECK(hashed_count < full_count);
  }

  TEST_CASE("so is what one comes to who looks often enough to give way, whoever works meanwhile") {
    auto const looks = [](world_core& self, at x, at y, std::uint64_t& saw) {
      for (int i = 0; i < 40 && saw == 0; ++i)
        saw = self.load(x, order::relaxed, scope::system);
      saw = 8 * saw + self.load(y, order::relaxed, scope::system);
    };
    auto const works = [](world_core& self, at x, at y, std::uint64_t&) {
      self.store(y, 1, order::relaxed, scope::system);
      self.fetch_add(y, 1, order::relaxed, scope::system);
      self.store(x, 1, order::relaxed, scope::system);
      self.store(y, 3, order::relaxed, scope::system);
    };
    for (search_bounds const& most : {search_bounds{.preemptions = 0, .stale = 0},
                                      search_bounds{.preemptions = 1, .stale = 0}}) {
      CAPTURE(to_string(most));
      explored_all const full = all_of(two(looks, works), search::everything, most);
      explored_all const hashed = all_of(two(looks, works), search::hashed, most);
      CHECK(hashed.seen == full.seen);
      CHECK(hashed.executions <= full.executions);
    }
  }

  TEST_CASE("only exhaustive exploration can leave anything out, and in one way") {
    auto const nothing = [](world&) {};
    for (explore_options const& o :
         {explore_options{.reduces = true}, explore_options{.hashes_states = true}})
      CHECK_THROWS_WITH_AS(static_cast<void>(explore(o, nothing)),
                           "explore: only exhaustive exploration can be reduced, or hash states",
                           std::invalid_argument);
    for (explore_options const& o :
         {explore_options{.strategy = "exhaustive", .bounds = {.deviations = 2}, .reduces = true},
          explore_options{.strategy = "exhaustive", .reduces = true, .hashes_states = true}})
      CHECK_THROWS_WITH_AS(static_cast<void>(explore(o, nothing)),
                           "explore: partial-order reduction goes with no bound of deviations and "
                           "no hashing of states; these two go together",
                           std::invalid_argument);
    for (search_bounds const& b : {search_bounds{.deviations = 2}, search_bounds{.preemptions = 2},
                                   search_bounds{.stale = 2}})
      CHECK_THROWS_WITH_AS(static_cast<void>(explore({.bounds = b}, nothing)),
                           "explore: only exhaustive exploration has bounds; the strategy is swarm",
                           std::invalid_argument);
  }

  TEST_CASE("one that waits, too; and the verdict says what was left out") {
    auto const pass = [](bool reduces) {
      return explore({.executions = 100'000, .strategy = "exhaustive", .reduces = reduces},
                     [](world& w) { pass_message(w, {}); });
    };
    verdict const full = pass(false);
    verdict const reduced = pass(true);
    CHECK_MESSAGE(reduced, reduced.to_string());
    CHECK(reduced.is_complete);
    CHECK(full.redundant == 0);
    CHECK(reduced.executions < full.executions);
    CHECK(reduced.inconclusive == 0);
    CHECK((reduced.redundant == 0) == (reduced.to_string().find("redundant") == std::string::npos));
  }

  TEST_CASE("one that spins comes to its end, too") {
    for (auto const preemptions : {std::optional<std::uint32_t>(), std::optional(2U)}) {
      explore_options o{.executions = 500, .strategy = "exhaustive", .reduces = true};
      o.bounds.preemptions = preemptions;
      verdict const v = explore(o, [](world& w) {
        auto word = w.allocate<std::uint32_t>(1, "word");
        w.start("spins", [&](world_core& self) {
          while (self.load(word.global(), order::acquire, scope::system) == 0) {
          }
        });
        w.start("stores", [&](world_core& self) {
          self.store(word.global(), 1, order::release, scope::system);
        });
        w.join();
      });
      CHECK_MESSAGE(v, v.to_string());
      CHECK(v.inconclusive == 0);
      CHECK(v.executions == 500);
    }
  }

  TEST_CASE("an execution that goes on beyond its limit is not one of those asked for") {
    verdict const v = explore({.executions = 1'000, .strategy = "exhaustive", .most_decisions = 4},
                              [](world& w) { pass_message(w, {}); });
    CHECK_MESSAGE(!v.failure, v.to_string());
    CHECK_FALSE(v.is_complete);
    CHECK(v.inconclusive != 0);
  }

  TEST_CASE("where nothing comes to its end, nothing is right") {
    for (auto const& [reduces, hashes] : {std::pair{false, false}, {true, false}, {false, true}}) {
      verdict const v = explore({.executions = 10'000,
                                 .strategy = "exhaustive",
                                 .reduces = reduces,
                                 .hashes_states = hashes,
                                 .most_decisions = 4},
                                [](world& w) { pass_message(w, {}); });
      CHECK_MESSAGE(!v.failure, v.to_string());
      CHECK(!v);
      CHECK(v.to_string().find("nothing came to its end") != std::string::npos);
    }
  }

  TEST_CASE("a failure is found, a race as well as a deadlock") {
    for (message_orders const h : {message_orders{order::relaxed, order::acquire},
                                   message_orders{order::release, order::relaxed}})
      for (auto const& [detects_races, hashes] :
           {std::pair{true, false}, {false, false}, {true, true}, {false, true}}) {
        verdict const v = explore({.executions = 100'000,
                                   .strategy = "exhaustive",
                                   .reduces = !hashes,
                                   .hashes_states = hashes,
                                   .detects_races = detects_races,
                                   .diagnoses = false},
                                  [&](world& w) { pass_message(w, h); });
        REQUIRE(v.failure);
        CHECK(v.failure->kind == (detects_races ? "race" : "check"));
        CHECK(v.failure->is_repeatable);
      }
    for (bool const hashes : {false, true}) {
      verdict const v =
          explore({.executions = 100'000,
                   .strategy = "exhaustive",
                   .reduces = !hashes,
                   .hashes_states = hashes},
                  [](world& w) {
                    auto flag = w.allocate<std::uint32_t>(1, "flag");
                    auto const is_set = [](std::uint32_t f) { return f == 1; };
                    w.start("no writer", [&](world_core& self) {
                      static_cast<void>(self.load(flag.global(), order::acquire, scope::system));
                    });
                    w.start_task("waiter", [&](world_core& self) -> task<> {
                      static_cast<void>(co_await self.wait_until(flag.global(), is_set,
                                                                 order::acquire, scope::system));
                    });
                    w.join();
                  });
      REQUIRE(v.failure);
      CHECK(v.failure->kind == "deadlock");
    }
  }
}

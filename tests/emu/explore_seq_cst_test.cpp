// SPDX-License-Identifier: Apache-2.0
// seq_cst loads and stores are ordered with each other, and with nothing else.
#include "explored_ends.hpp"
#include "explored_outcomes.hpp"

#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

body store_then_load(bool is_first, order store, order load) {
  return [=](world_core& self, word_at x, word_at y, std::uint32_t& saw) {
    self.store(is_first ? x : y, 1, store, far);
    saw = self.load(is_first ? y : x, load, far);
  };
}

/// A thread's seq_cst operations: values to store to x or y, or a load.
struct step {
  bool is_of_x;
  std::uint32_t stored; ///< 0: it loads
  bool adds = false;    ///< `stored`, and sees what was there
};
using program = std::vector<std::vector<step>>;

/// What threads of seq_cst operations load, and leave in x and y, a decimal digit each.
std::set<std::uint32_t> all_seq_cst(program const& threads, search_bounds most = {}) {
  std::set<std::uint32_t> seen;
  explore_options o{.executions = 1'000'000, .strategy = "exhaustive"};
  o.bounds = most;
  verdict const v = explore(o, [&](world& w) {
    auto words = w.allocate<std::uint32_t>(32, "words");
    word_at const x = words.global(), y = words.global() + 16;
    std::vector<std::uint32_t> saw(threads.size(), 0);
    for (std::size_t i = 0; i < threads.size(); ++i)
      w.start("thread", [&, i](world_core& self) {
        for (step const& s : threads[i]) {
          word_at const word = s.is_of_x ? x : y;
          if (s.adds)
            saw[i] = 10 * saw[i] + self.fetch_add(word, s.stored, order::seq_cst, far);
          else if (s.stored != 0)
            self.store(word, s.stored, order::seq_cst, far);
          else
            saw[i] = 10 * saw[i] + self.load(word, order::seq_cst, far);
        }
      });
    w.join();
    std::uint32_t all = 0;
    for (std::uint32_t const s : saw)
      all = 10 * all + s;
    seen.insert(100 * all + 10 * w.host().load(x) + w.host().load(y));
  });
  quarry_test::check_complete(v, most);
  return seen;
}

/// The same where one operation follows the other.
void interleave(program const& threads, std::vector<std::size_t>& done,
                std::vector<std::uint32_t>& saw, std::uint32_t x, std::uint32_t y,
                std::set<std::uint32_t>& seen) {
  bool is_over = true;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (done[i] == threads[i].size())
      continue;
    is_over = false;
    step const s = threads[i][done[i]++];
    std::uint32_t const before = saw[i];
    std::uint32_t const there = s.is_of_x ? x : y;
    if (s.stored == 0 || s.adds)
      saw[i] = 10 * saw[i] + there;
    std::uint32_t const left = s.adds ? there + s.stored : s.stored != 0 ? s.stored : there;
    interleave(threads, done, saw, s.is_of_x ? left : x, s.is_of_x ? y : left, seen);
    saw[i] = before;
    --done[i];
  }
  if (!is_over)
    return;
  std::uint32_t all = 0;
  for (std::uint32_t const s : saw)
    all = 10 * all + s;
  seen.insert(100 * all + 10 * x + y);
}

std::set<std::uint32_t> interleaved(program const& threads) {
  std::vector<std::size_t> done(threads.size(), 0);
  std::vector<std::uint32_t> saw(threads.size(), 0);
  std::set<std::uint32_t> seen;
  interleave(threads, done, saw, 0, 0, seen);
  return seen;
}

/// Peterson's and Dekker's way in: who sees that the other one wants nothing, goes.
void enter(world& w, order store, order first_load, order second_load, order second_store) {
  auto wants = w.allocate<std::uint32_t>(32, "wants");
  bool is_in[2] = {};
  auto const go = [&](unsigned me, order s, order l) {
    return [&, me, s, l](world_core& self) {
      self.store(wants.global() + 16 * me, 1, s, far);
      is_in[me] = self.load(wants.global() + 16 * (1 - me), l, far) == 0;
    };
  };
  w.start("one", go(0, store, first_load));
  w.start("other", go(1, second_store, second_load));
  w.join();
  w.check(!(is_in[0] && is_in[1]), "both are in");
}

} // namespace

TEST_SUITE("emu.explore_seq_cst") {
  TEST_CASE("store buffering: only where all four are seq_cst one of the two sees the other") {
    auto const both_miss = [](order store, order load) {
      return outcomes({store_then_load(true, store, load), store_then_load(false, store, load)})
          .contains(0);
    };
    CHECK(!both_miss(order::seq_cst, order::seq_cst));
    CHECK(both_miss(order::seq_cst, order::relaxed));
    CHECK(both_miss(order::seq_cst, order::acquire));
    CHECK(both_miss(order::relaxed, order::seq_cst));
    CHECK(both_miss(order::release, order::seq_cst));
  }

  TEST_CASE("four threads agree on the order of two seq_cst stores, but not of release stores") {
    auto const agree = [](order store, order load) {
      auto const put = [=](bool is_first) -> body {
        return [=](world_core& self, word_at x, word_at y, std::uint32_t&) {
          self.store(is_first ? x : y, 1, store, far);
        };
      };
      auto const look = [=](bool is_first) -> body {
        return [=](world_core& self, word_at x, word_at y, std::uint32_t& saw) {
          saw = 2 * self.load(is_first ? x : y, load, far);
          saw += self.load(is_first ? y : x, load, far);
        };
      };
      return !outcomes({put(true), put(false), look(true), look(false)}).contains(22);
    };
    CHECK(agree(order::seq_cst, order::seq_cst));
  }

  TEST_CASE("a seq_cst store does not hold back what is weaker, nor a load what came before it") {
    // Read by the weaker one of two stores that the first actor has written to y.
    auto const late = [](order store) -> body {
      return [=](world_core& self, word_at x, word_at y, std::uint32_t&) {
        self.store(x, 1, store, far);
        self.store(y, 1, order::relaxed, far);
      };
    };
    body const looks = [](world_core& self, word_at x, word_at y, std::uint32_t& saw) {
      saw = 2 * self.load(y, order::acquire, far);
      saw += self.load(x, order::relaxed, far);
    };
    CHECK(outcomes({late(order::seq_cst), looks}).contains(2));
    CHECK(outcomes({late(order::relaxed), looks}).contains(2));
  }

  TEST_CASE("where all is seq_cst, all that is seen is one operation after the other") {
    constexpr step load_x{true, 0}, load_y{false, 0};
    constexpr auto put_x = [](std::uint32_t v) { return step{true, v}; };
    constexpr auto put_y = [](std::uint32_t v) { return step{false, v}; };
    program const those[] = {
        {{put_x(1), put_y(1)}, {put_y(2), load_x}},           // R
        {{put_x(1), put_y(2)}, {put_y(1), put_x(2)}},         // 2+2W
        {{put_x(2), put_y(1)}, {load_y, put_x(1)}},           // S
        {{put_x(1), put_y(1)}, {load_y, load_x}},             // MP
        {{put_x(1), load_y}, {put_y(1), load_x}},             // SB
        {{put_x(1), put_y(1), load_x}, {put_y(2), put_x(2)}}, // Peterson's stores
        {{put_x(1), put_y(1)}, {put_y(2), load_y}, {put_x(3)}},
        {{put_x(1), put_y(1)}, {put_y(2), put_x(2)}, {load_x, load_y}},
        {{put_y(1), put_x(1), put_y(3)}, {put_x(3), load_y}}, // its y is seen after the other's x
        {{put_y(1), {true, 1, true}}, {put_x(2), put_y(2), load_x}},
    };
    for (program const& p : those)
      CHECK(all_seq_cst(p) == interleaved(p));
  }

  TEST_CASE(
      "so it is, of some, where nothing may be stale: one that follows another is there at once") {
    constexpr step load_x{true, 0}, load_y{false, 0};
    for (program const& p :
         std::initializer_list<program>{{{{true, 1}, load_y}, {{false, 1}, load_x}},
                                        {{{true, 1}, {false, 1}}, {load_y, load_x}}})
      CHECK(all_seq_cst(p, {.stale = 0}) == interleaved(p));
  }

  TEST_CASE("Peterson's lock lets one in after the other") {
    verdict const v = explore({.executions = 3'000}, [](world& w) {
      auto words = w.allocate<std::uint32_t>(64, "words");
      word_at const wants = words.global(), turn = words.global() + 32, value = words.global() + 48;
      for (std::uint32_t me = 0; me < 2; ++me)
        w.start("thread", [=](world_core& self) {
          std::uint32_t const other = 1 - me;
          self.store(wants + 16 * me, 1, order::seq_cst, far);
          self.store(turn, other, order::seq_cst, far);
          while (self.load(wants + 16 * other, order::seq_cst, far) == 1 &&
                 self.load(turn, order::seq_cst, far) == other) {
          }
          self.store(value, self.load(value) + 1);
          self.store(wants + 16 * me, 0, order::seq_cst, far);
        });
      w.join();
      w.check(w.host().load(value) == 2, "one increment is lost");
    });
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("two stores to a word, one after the other, may both come before another one") {
    // In turn: the second one's y = 1 and 2, all of the first one, then x = 2.
    bool is_seen = false;
    verdict const v = explore({.executions = 100'000, .strategy = "exhaustive"}, [&](world& w) {
      auto words = w.allocate<std::uint32_t>(32, "words");
      auto const x = words.global(), y = x + 16;
      std::uint32_t saw = 0;
      w.start("first", [&](world_core& self) {
        self.store(y, 4, order::seq_cst, far);
        self.store(x, 1, order::seq_cst, far);
        saw = self.load(y, order::relaxed, far);
      });
      w.start("second", [&](world_core& self) {
        self.store(y, 1, order::seq_cst, far);
        self.store(y, 2, order::seq_cst, far);
        self.store(x, 2, order::seq_cst, far);
      });
      w.join();
      is_seen = is_seen || (saw == 4 && w.host().load(x) == 2 && w.host().load(y) == 4);
    });
    CHECK_MESSAGE(v.is_complete, v.to_string());
    CHECK(is_seen);
  }

  TEST_CASE("Dekker's way in is mended by four seq_cst operations, not by two") {
    verdict const v = explore({.detects_races = false}, [](world& w) {
      enter(w, order::relaxed, order::relaxed, order::relaxed, order::relaxed);
    });
    REQUIRE(v.failure);
    REQUIRE(v.failure->mended);
    REQUIRE(v.failure->mended->is_possible);
    // The two sites of go() stand for both threads.
    CHECK(v.failure->mended->changes.size() == 2);
    auto const is_safe = [](order store, order first_load, order second_load, order second_store) {
      verdict const found =
          explore({.strategy = "exhaustive", .detects_races = false},
                  [=](world& w) { enter(w, store, first_load, second_load, second_store); });
      return static_cast<bool>(found);
    };
    constexpr order strong = order::seq_cst, weak = order::relaxed;
    CHECK(is_safe(strong, strong, strong, strong));
    CHECK(!is_safe(weak, strong, weak, strong));
    CHECK(!is_safe(strong, weak, strong, weak));
    CHECK(!is_safe(strong, strong, strong, weak));
    CHECK(!is_safe(strong, strong, weak, strong));
  }
}

// SPDX-License-Identifier: Apache-2.0
// seq_cst loads and stores are ordered with each other, and with nothing else.
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace quarry;
using namespace quarry::emu;

constexpr scope far = scope::system;
using at = global<std::uint32_t>;
using body = std::function<void(world_core&, at x, at y, std::uint32_t& saw)>;

/// What the threads may see, in all executions: each a decimal digit, the first one's first.
std::set<std::uint32_t> outcomes(std::vector<body> const& threads) {
  std::set<std::uint32_t> seen;
  verdict const v =
      explore({.executions = 1'000'000, .strategy = "exhaustive", .reduces = true}, [&](world& w) {
        auto words = w.allocate<std::uint32_t>(32, "words");
        std::vector<std::uint32_t> saw(threads.size(), 0);
        for (std::size_t i = 0; i < threads.size(); ++i)
          w.start("thread", [&, i](world_core& self) {
            threads[i](self, words.global(), words.global() + 16, saw[i]);
          });
        w.join();
        std::uint32_t all = 0;
        for (std::uint32_t const s : saw)
          all = 10 * all + s;
        seen.insert(all);
      });
  REQUIRE_MESSAGE(v, v.to_string());
  REQUIRE(v.is_complete);
  return seen;
}

body store_then_load(bool is_first, order store, order load) {
  return [=](world_core& self, at x, at y, std::uint32_t& saw) {
    self.store(is_first ? x : y, 1, store, far);
    saw = self.load(is_first ? y : x, load, far);
  };
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
        return [=](world_core& self, at x, at y, std::uint32_t&) {
          self.store(is_first ? x : y, 1, store, far);
        };
      };
      auto const look = [=](bool is_first) -> body {
        return [=](world_core& self, at x, at y, std::uint32_t& saw) {
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
      return [=](world_core& self, at x, at y, std::uint32_t&) {
        self.store(x, 1, store, far);
        self.store(y, 1, order::relaxed, far);
      };
    };
    body const looks = [](world_core& self, at x, at y, std::uint32_t& saw) {
      saw = 2 * self.load(y, order::acquire, far);
      saw += self.load(x, order::relaxed, far);
    };
    CHECK(outcomes({late(order::seq_cst), looks}).contains(2));
    CHECK(outcomes({late(order::relaxed), looks}).contains(2));
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

// SPDX-License-Identifier: Apache-2.0
// Release stores and fences that take place late: what they wait for, and what they publish.
#include "explored_outcomes.hpp"

#include <cstdint>
#include <functional>
#include <utility>

namespace {

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

} // namespace

TEST_SUITE("emu.explore_releases") {
  TEST_CASE("a store waits for no update or fence between it and a load that does not release") {
    auto const both_miss = [](std::function<void(world_core&, word_at)> const& between) {
      auto const one = [=](bool is_first) -> body {
        return [=](world_core& self, word_at x, word_at y, std::uint32_t& saw) {
          self.store(is_first ? x : y, 1, order::release, far);
          between(self, x + 8);
          saw = self.load(is_first ? y : x, order::acquire, far);
        };
      };
      return outcomes({one(true), one(false)}).contains(0);
    };
    auto const add = [](order o) {
      return [o](world_core& self, word_at z) { self.fetch_add(z, 1, o, far); };
    };
    auto const fence = [](order o) {
      return [o](world_core& self, word_at) { self.fence(o, far); };
    };
    CHECK(both_miss(add(order::relaxed)));
    CHECK(both_miss(add(order::acquire)));
    CHECK(both_miss(fence(order::acquire)));
    CHECK(both_miss(fence(order::release)));
    CHECK(both_miss(fence(order::acq_rel)));
    for (auto const& [first, second] :
         {std::pair(order::acquire, order::release), std::pair(order::release, order::acquire)})
      CHECK(both_miss([=](world_core& self, word_at) {
        self.fence(first, far);
        self.fence(second, far);
      }));
    CHECK(!both_miss(add(order::acq_rel))); // one of the two sees the other's
    CHECK(!both_miss(fence(order::seq_cst)));
  }

  TEST_CASE("a release before it makes no release of a relaxed update, nor an acquire fence") {
    auto const is_lost = [](bool releases_other, order add, bool fences) {
      return outcomes({[=](world_core& self, word_at x, word_at y, std::uint32_t&) {
                         if (releases_other)
                           self.store(x + 8, 1, order::release, far);
                         self.store(x, 1, order::relaxed, far);
                         if (fences)
                           self.fence(order::acquire, far);
                         self.fetch_add(y, 1, add, far);
                       },
                       [=](world_core& self, word_at x, word_at y, std::uint32_t& saw) {
                         saw = 2 * self.load(y, order::acquire, far);
                         saw += self.load(x, order::relaxed, far);
                       }})
          .contains(2);
    };
    for (bool const releases_other : {false, true})
      for (bool const fences : {false, true}) {
        CAPTURE(releases_other);
        CAPTURE(fences);
        CHECK(is_lost(releases_other, order::relaxed, fences));
        CHECK(is_lost(releases_other, order::acquire, fences));
        CHECK(!is_lost(releases_other, order::release, fences));
      }
  }

  TEST_CASE(
      "a release fence orders what came before it with every later write, and no later load") {
    using op = std::function<void(world_core&, word_at)>;
    auto const misses = [](op const& first) {
      auto const one = [=](bool is_first) -> body {
        return [=](world_core& self, word_at x, word_at y, std::uint32_t& saw) {
          first(self, is_first ? x : y);
          self.fence(order::release, far);
          saw = self.load(is_first ? y : x, order::acquire, far);
        };
      };
      return outcomes({one(true), one(false)}).contains(0);
    };
    CHECK(misses([](world_core& self, word_at x) { self.store(x, 1, order::relaxed, far); }));
    CHECK(misses([](world_core& self, word_at x) { self.store(x, 1, order::release, far); }));
    auto const is_lost = [](op const& last) {
      return outcomes({[=](world_core& self, word_at x, word_at y, std::uint32_t&) {
                         self.store(x, 1, order::relaxed, far);
                         self.fence(order::release, far);
                         static_cast<void>(self.load(x + 8, order::acquire, far));
                         last(self, y);
                       },
                       [=](world_core& self, word_at x, word_at y, std::uint32_t& saw) {
                         saw = 2 * self.load(y, order::acquire, far);
                         saw += self.load(x, order::relaxed, far);
                       }})
          .contains(2);
    };
    CHECK(!is_lost([](world_core& self, word_at y) { self.store(y, 1, order::relaxed, far); }));
    CHECK(!is_lost([](world_core& self, word_at y) { self.fetch_add(y, 1, order::relaxed, far); }));
    CHECK(!is_lost([](world_core& self, word_at y) { self.store(y, 1, order::release, far); }));
  }

  TEST_CASE("a release that takes place late publishes what came before it, not what came after") {
    auto const late = [](bool stores_before, bool stores_after) -> body {
      return [=](world_core& self, word_at x, word_at y, std::uint32_t&) {
        if (stores_before)
          self.store(x, 1, order::relaxed, far);
        self.store(x + 8, 1, order::release, far);
        if (stores_after)
          self.store(x, 2, order::relaxed, far);
        static_cast<void>(self.load(x + 8, order::relaxed, far)); // here, if not before
        self.fetch_add(y, 1, order::relaxed, far);
      };
    };
    auto const looks = [](bool at_release) -> body {
      return [=](world_core& self, word_at x, word_at y, std::uint32_t& saw) {
        saw = 3 * self.load(at_release ? x + 8 : y, order::acquire, far);
        saw += self.load(x, order::relaxed, far);
      };
    };
    std::set<std::uint32_t> const first_only{0, 1, 4}, second_only{0, 2, 3, 5}, all{0, 1, 2, 4, 5};
    CHECK(outcomes({late(true, false), looks(true)}) == first_only);
    CHECK(outcomes({late(false, true), looks(true)}) == second_only);
    CHECK(outcomes({late(true, true), looks(true)}) == all);
    CHECK(outcomes({late(true, false), looks(false)}).contains(4));
    CHECK(outcomes({late(false, true), looks(false)}).contains(3)); // y says nothing of x
  }
}

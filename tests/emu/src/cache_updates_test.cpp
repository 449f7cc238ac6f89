// SPDX-License-Identifier: Apache-2.0
// Updates that others see late.
#include "five_actors.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>

namespace {

using namespace quarry_test;

} // namespace

TEST_SUITE("emu.cache_updates") {
  TEST_CASE("updates may pass later loads, but not as seq_cst ones, nor where they are released") {
    enum class between { nothing, release, seq_cst };
    using pair = cache_machine::actor_id five::*;
    auto const both_miss = [](order update, order load, pair one, pair other, between what,
                              scope s = scope::system, scope of_loads = scope::system) {
      auto const add = [=](five& f, pair who, std::uintptr_t at) {
        f.machine.update(f.*who, at, 4, update, s, [](std::uint64_t v) { return v + 1; });
        if (what == between::release)
          f.machine.store(f.*who, z, 4, 1, order::release, s);
        if (what == between::seq_cst)
          f.machine.fence(f.*who, order::seq_cst, s);
      };
      return explore_all([=](five& f) {
               add(f, one, x);
               add(f, other, y);
               auto const r = f.machine.load(f.*one, y, 4, load, of_loads).value;
               return r * 2 + f.machine.load(f.*other, x, 4, load, of_loads).value;
             })
          .contains(0);
    };
    for (pair const other : {&five::b, &five::other_group, &five::other_agent, &five::host})
      for (order const load : {order::relaxed, order::acquire})
        for (order const update :
             {order::relaxed, order::acquire, order::release, order::acq_rel}) {
          CAPTURE(static_cast<int>(load));
          CAPTURE(static_cast<int>(update));
          CHECK(both_miss(update, load, &five::a, other, between::nothing));
          CHECK(both_miss(update, load, &five::a, other, between::release)); // that comes later
          CHECK(!both_miss(update, load, &five::a, other, between::seq_cst));
          CHECK(!both_miss(order::seq_cst, load, &five::a, other, between::nothing));
        }
    for (scope const s : {scope::work_group, scope::agent, scope::system})
      CHECK(both_miss(order::acq_rel, order::acquire, &five::a, &five::b, between::nothing, s, s));
    for (order const update :
         {order::relaxed, order::acq_rel}) // they are not among the seq_cst ones
      CHECK(both_miss(update, order::seq_cst, &five::a, &five::host, between::nothing));
    CHECK(!both_miss(order::seq_cst, order::seq_cst, &five::a, &five::host, between::nothing));
  }

  TEST_CASE("who acquires what comes after an update has it, who acquires nothing may miss it") {
    // What `last` sees of x, which `f.a` has updated, once it has y; 2: it has not.
    auto const seen = [](order update_y, scope s, cache_machine::actor_id five::* last) {
      return explore_all([=](five& f) -> std::uint64_t {
        add_one(f.machine, f.a, scope::system, order::relaxed);
        f.machine.update(f.a, y, 4, update_y, s, [](std::uint64_t v) { return v + 1; });
        if (f.machine.load(f.*last, y, 4, order::acquire, s).value != 1)
          return 2;
        return f.machine.load(f.*last, x, 4, order::relaxed, scope::system).value;
      });
    };
    CHECK(seen(order::relaxed, scope::system, &five::host) == outcomes{0, 1, 2});
    CHECK(seen(order::release, scope::system, &five::host) == outcomes{1, 2});
    CHECK(seen(order::release, scope::work_group, &five::b) == outcomes{1, 2});
    // Through a neighbour, or a reader, who releases it farther.
    auto const passed_on = [](bool by_reader) {
      return explore_all([=](five& f) -> std::uint64_t {
        add_one(f.machine, f.a, scope::system, order::relaxed);
        auto const who = by_reader ? f.other_agent : f.b;
        if (by_reader) {
          if (f.machine.load(who, x, 4, order::relaxed, scope::system).value != 1)
            return 2;
        } else {
          f.machine.fence(f.a, order::release, scope::work_group);
          f.machine.fence(who, order::acquire, scope::work_group);
        }
        f.machine.store(who, y, 4, 1, order::release, scope::system);
        if (f.machine.load(f.host, y, 4, order::acquire, scope::system).value != 1)
          return 2;
        return f.machine.load(f.host, x, 4, order::relaxed, scope::system).value;
      });
    };
    CHECK(passed_on(false) == outcomes{1, 2});
    CHECK(passed_on(true) == outcomes{1, 2});
    // A narrow release hides nothing from others.
    CHECK(explore_all([](five& f) {
            add_one(f.machine, f.a, scope::system, order::relaxed);
            f.machine.fence(f.a, order::release, scope::work_group);
            f.machine.fence(f.b, order::acquire, scope::work_group);
            auto const near = f.machine.load(f.b, x, 4, order::acquire, scope::system).value;
            return 2 * near + f.machine.load(f.host, x, 4, order::acquire, scope::system).value;
          }) == outcomes{2, 3});
  }

  TEST_CASE("what lingers in a cache is gone with it: who empties it sees what comes from above") {
    // The host hands x over, of which `f.a` has updated an older value where the reader looks.
    CHECK(!explore_all([](five& f) -> std::uint64_t {
             f.machine.update(f.a, x, 4, order::relaxed, scope::agent,
                              [](std::uint64_t) { return std::optional<std::uint64_t>(10); });
             f.machine.store(f.host, x, 4, 1, order::relaxed, scope::system);
             f.machine.store(f.host, y, 4, 1, order::release, scope::system);
             if (f.machine.load(f.other_group, y, 4, order::acquire, scope::system).value != 1)
               return 2;
             return f.machine.load(f.other_group, x, 4, order::relaxed, scope::agent).value;
           }).contains(0));
  }

  TEST_CASE("seq_cst loads see two updates in one order") {
    CHECK(!explore_all([](five& f) {
             add_one(f.machine, f.a, scope::system, order::relaxed);
             f.machine.update(f.host, y, 4, order::relaxed, scope::system,
                              [](std::uint64_t v) { return v + 1; });
             std::uint64_t all = 0;
             auto const look = [&](cache_machine::actor_id who, std::uintptr_t at) {
               all = 2 * all + f.machine.load(who, at, 4, order::seq_cst, scope::system).value;
             };
             look(f.other_group, x);
             look(f.other_agent, y);
             look(f.other_group, y);
             look(f.other_agent, x);
             return all;
           }).contains(0b1100));
    // A seq_cst fence comes after what a seq_cst load had seen.
    CHECK(!explore_all([](five& f) -> std::uint64_t {
             add_one(f.machine, f.a, scope::system, order::relaxed);
             auto const first = f.machine.load(f.host, x, 4, order::seq_cst, scope::system).value;
             auto const second = f.machine.load(f.host, y, 4, order::seq_cst, scope::system).value;
             f.machine.store(f.b, y, 4, 1, order::relaxed, scope::system);
             f.machine.store(f.b, z, 4, 1, order::seq_cst, scope::system);
             if (f.machine.load(f.other_agent, z, 4, order::relaxed, scope::system).value != 1)
               return 8;
             f.machine.fence(f.other_agent, order::seq_cst, scope::system);
             auto const last = f.machine.load(f.other_agent, x, 4, order::relaxed, scope::system);
             return 4 * first + 2 * second + last.value;
           }).contains(0b100));
  }

  TEST_CASE(
      "what was overwritten by more updates than are remembered is seen no longer, nor lost") {
    bool left_out = false;
    auto const seen = [&left_out](unsigned updates) {
      left_out = false;
      return explore_all([&](five& f) {
        f.machine.note_left_out(&left_out);
        for (unsigned i = 0; i < updates; ++i)
          add_one(f.machine, i % 2 == 0 ? f.a : f.other_agent, scope::system, order::relaxed);
        return f.machine.load(f.host, x, 4, order::acquire, scope::system).value;
      });
    };
    CHECK(seen(7) == outcomes{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(!left_out);
    CHECK(seen(9) == outcomes{2, 3, 4, 5, 6, 7, 8, 9});
    CHECK(left_out);
  }

  TEST_CASE("an update that leaves the word as it is, or fails, may read what a load may") {
    using value = std::optional<std::uint64_t>;
    struct {
      cache_machine::actor_id five::* other;
      scope far;
    } const others[] = {{&five::host, scope::system},
                        {&five::other_agent, scope::system},
                        {&five::other_group, scope::agent},
                        {&five::b, scope::work_group}};
    for (auto const& [other, far] : others) {
      CAPTURE(to_string(far));
      auto const reads = [&](order o, value (*f)(std::uint64_t), bool fences) {
        return explore_all([&](five& all) {
          add(all, all.a, x, order::relaxed, far);
          if (fences)
            all.machine.fence(all.*other, order::release, far);
          return all.machine.update(all.*other, x, 4, o, far, [f](std::uint64_t v) { return f(v); })
              .value;
        });
      };
      auto const keep = [](std::uint64_t v) { return value(v); };
      auto const put_down = [](std::uint64_t) { return value(0); };
      auto const add_to_others = [](std::uint64_t v) { return v == 0 ? value() : value(v + 1); };
      auto const change = [](std::uint64_t v) { return value(v + 1); };
      outcomes const old{0, 1}, newest{1};
      for (order const o : {order::relaxed, order::acquire}) {
        CHECK(reads(o, keep, false) == old);
        CHECK(reads(o, put_down, false) == old);
        CHECK(reads(o, change, false) == newest);
        CHECK(reads(o, keep, true) == newest); // a release, by the fence
      }
      for (order const o : {order::relaxed, order::acquire, order::release, order::acq_rel})
        for (bool const fences : {false, true})
          CHECK(reads(o, add_to_others, fences) == old); // it has written nothing
      CHECK(reads(order::release, keep, false) == newest);
      CHECK(reads(order::seq_cst, add_to_others, false) == newest);
    }
  }

  TEST_CASE("but not where that continues a release of its own") {
    for (order const o : {order::relaxed, order::release}) {
      outcomes const seen = explore_all([o](five& f) {
        f.machine.store(f.host, x, 4, 5, o, scope::system);
        if (f.machine.load(f.a, x, 4, order::relaxed, scope::system).value != 5)
          return std::uint64_t{9};
        add(f, f.a, x, order::relaxed, scope::system);
        return f.machine
            .update(f.host, x, 4, order::relaxed, scope::system,
                    [](std::uint64_t v) { return std::optional(v); })
            .value;
      });
      CHECK(seen == (o == order::relaxed ? outcomes{5, 6, 9} : outcomes{6, 9}));
    }
  }

  TEST_CASE("who has read so comes after what it has read, and so do those whom it tells") {
    constexpr scope far = scope::system;
    auto const keep = [](std::uint64_t v) { return std::optional(v); };
    CHECK(explore_all([&](five& f) {
            add(f, f.a, x, order::relaxed, far);
            auto const first = f.machine.update(f.host, x, 4, order::relaxed, far, keep).value;
            f.machine.store(f.host, y, 4, 1, order::release, far);
            if (f.machine.load(f.other_group, y, 4, order::acquire, far).value == 0)
              return std::uint64_t{9};
            return 2 * first + f.machine.load(f.other_group, x, 4).value;
          }) == outcomes{0, 1, 3, 9});
  }
}

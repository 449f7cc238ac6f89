// SPDX-License-Identifier: Apache-2.0
#include "every_choice.hpp"

#include <quarry/emu/cache_machine.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <set>

namespace {

using namespace quarry;
using namespace quarry::emu;
using quarry_test::every_choice;

constexpr std::uintptr_t x = 0x1000, y = 0x1040, z = 0x1080;

/// Two wavefronts in one work-group, one in another, one on another agent, and a host thread.
struct five {
  explicit five(chooser& c) : machine(c) {
    auto const agent = machine.add_agent();
    auto const unit = machine.add_compute_unit(agent);
    a = machine.add_wavefront(unit);
    b = machine.add_wavefront(unit);
    other_group = machine.add_wavefront(machine.add_compute_unit(agent));
    other_agent = machine.add_wavefront(machine.add_compute_unit(machine.add_agent()));
    host = machine.add_host();
  }
  cache_machine machine;
  cache_machine::actor_id a, b, other_group, other_agent, host;
};

using outcomes = std::set<std::uint64_t>;

outcomes explore_all(std::function<std::uint64_t(five&)> const& program) {
  every_choice choices;
  five f(choices);
  outcomes seen;
  do {
    f.machine.reset();
    seen.insert(program(f));
  } while (choices.advance());
  return seen;
}

void add_one(cache_machine& m, cache_machine::actor_id who, scope s, order o = order::acq_rel) {
  m.update(who, x, 4, o, s, [](std::uint64_t v) { return std::optional(v + 1); });
}

} // namespace

TEST_SUITE("emu.cache_machine") {
  TEST_CASE("a late write-back does not go before what the word was written over") {
    // The first value goes from the L2 to memory after the second one was written in an L1.
    every_choice choices;
    cache_machine m(choices);
    auto const agent = m.add_agent();
    auto const unit = m.add_compute_unit(agent);
    auto const first = m.add_wavefront(unit), last = m.add_wavefront(unit);
    auto const core = m.add_core(agent);
    outcomes seen;
    do {
      m.reset();
      add_one(m, first, scope::agent, order::release);
      if (m.load(core, x, 4, order::acquire, scope::agent).value != 1)
        continue;
      m.store(core, x, 4, 0, order::relaxed, scope::work_item);
      static_cast<void>(m.load(core, z, 4, order::acquire, scope::agent));
      m.fence(first, order::release, scope::system);
      m.store(core, y, 4, 1, order::release, scope::agent);
      if (m.load(last, y, 4, order::acquire, scope::agent).value != 1)
        continue;
      m.fence(core, order::release, scope::system);
      m.fence(last, order::acquire, scope::system);
      auto const old = m.update(last, x, 4, order::release, scope::agent,
                                [](std::uint64_t v) { return std::optional(v + 1); });
      seen.insert(old.value);
    } while (choices.advance());
    CHECK(seen == outcomes{0});
  }

  TEST_CASE("an actor sees its own stores, whatever else happens to them") {
    CHECK(explore_all([](five& f) {
            f.machine.store(f.a, x, 4, 1);
            f.machine.store(f.a, x, 4, 2);
            auto const v = f.machine.load(f.a, x, 4).value;
            f.machine.fence(f.a, order::acq_rel, scope::system);
            return v * 10 + f.machine.load(f.a, x, 4).value;
          }) == outcomes{22});
  }

  TEST_CASE("what a release has written back, an acquire at the same level cannot miss") {
    for (auto const s : {scope::agent, scope::system})
      CHECK(explore_all([s](five& f) {
              f.machine.load(f.other_group, x, 4); // a stale copy to be
              f.machine.store(f.a, x, 4, 1);
              f.machine.store(f.a, y, 4, 1, order::release, s);
              if (f.machine.load(f.other_group, y, 4, order::acquire, s).value == 0)
                return std::uint64_t{1};
              return f.machine.load(f.other_group, x, 4).value;
            }) == outcomes{1});
  }

  TEST_CASE("a missing or narrow release, or acquire, shows an old value") {
    auto const reaches_stale = [](cache_machine::actor_id five::* reader, auto write, auto read) {
      return explore_all([&](five& f) {
               f.machine.store(f.a, x, 4, 1);
               write(f.machine, f.a);
               if (read(f.machine, f.*reader) == 0)
                 return std::uint64_t{1};
               return f.machine.load(f.*reader, x, 4).value;
             })
          .contains(0);
    };
    auto const store = [](order o, scope s) {
      return [=](cache_machine& m, auto who) { m.store(who, y, 4, 1, o, s); };
    };
    auto const load = [](order o, scope s) {
      return [=](cache_machine& m, auto who) { return m.load(who, y, 4, o, s).value; };
    };
    auto const release = order::release, acquire = order::acquire, relaxed = order::relaxed;
    auto const group = scope::work_group, agent = scope::agent, system = scope::system;
    CHECK(reaches_stale(&five::b, store(relaxed, group), load(acquire, group)));
    CHECK(reaches_stale(&five::b, store(release, group), load(relaxed, group)));
    CHECK(!reaches_stale(&five::b, store(release, group), load(acquire, group)));
    CHECK(reaches_stale(&five::other_group, store(relaxed, agent), load(acquire, agent)));
    CHECK(reaches_stale(&five::other_group, store(release, agent), load(relaxed, agent)));
    CHECK(reaches_stale(&five::other_group, store(release, group), load(acquire, agent)));
    CHECK(reaches_stale(&five::other_group, store(release, agent), load(acquire, group)));
    CHECK(!reaches_stale(&five::other_group, store(release, agent), load(acquire, agent)));
    for (auto const reader : {&five::other_agent, &five::host}) {
      CHECK(reaches_stale(reader, store(relaxed, system), load(acquire, system)));
      CHECK(reaches_stale(reader, store(release, system), load(relaxed, system)));
      CHECK(reaches_stale(reader, store(release, agent), load(acquire, system)));
      CHECK(!reaches_stale(reader, store(release, system), load(acquire, system)));
    }
    CHECK(reaches_stale(&five::other_agent, store(release, system), load(acquire, agent)));
  }

  TEST_CASE("read-modify-writes are indivisible for those whom their scope includes") {
    CHECK(explore_all([](five& f) {
            for (auto const who : {f.a, f.b, f.other_group})
              add_one(f.machine, who, scope::agent, order::relaxed);
            f.machine.finish();
            return f.machine.final_value(x, 4).value;
          }) == outcomes{3});
    CHECK(explore_all([](five& f) {
            add_one(f.machine, f.a, scope::agent);
            add_one(f.machine, f.other_agent, scope::agent); // neither includes the other
            f.machine.finish();
            return f.machine.final_value(x, 4).value;
          }) == outcomes{1, 2});
  }

  TEST_CASE("two plain stores end in either order, one after a release in its own") {
    CHECK(explore_all([](five& f) {
            f.machine.store(f.a, x, 4, 1);
            f.machine.store(f.other_group, x, 4, 2);
            f.machine.fence(f.other_group, order::release, scope::system);
            f.machine.finish();
            return f.machine.final_value(x, 4).value;
          }) == outcomes{1, 2});
  }

  TEST_CASE("stores may pass later loads, but not those of seq_cst") {
    auto const both_miss = [](order store, order load) {
      return explore_all([=](five& f) {
               f.machine.store(f.a, x, 4, 1, store, scope::system);
               f.machine.store(f.host, y, 4, 1, store, scope::system);
               auto const r = f.machine.load(f.a, y, 4, load, scope::system).value;
               return r * 2 + f.machine.load(f.host, x, 4, load, scope::system).value;
             })
          .contains(0);
    };
    CHECK(both_miss(order::release, order::acquire));
    CHECK(both_miss(order::relaxed, order::relaxed));
    CHECK(both_miss(order::seq_cst, order::acquire));
    CHECK(both_miss(order::release, order::seq_cst));
    CHECK(!both_miss(order::seq_cst, order::seq_cst));
  }

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

  TEST_CASE("a release that is to come takes along what its actor has, wherever that is by then") {
    enum class how { store, fence };
    enum class order_of { own, others_before, others_after };
    // Of x, where `other_group` has acquired y.
    auto const seen = [](how releases, order_of stores) {
      return explore_all([=](five& f) -> std::uint64_t {
        auto const release = [&] {
          if (releases == how::store)
            f.machine.store(f.a, y, 4, 1, order::release, scope::agent);
          else
            f.machine.release_later(f.a, scope::agent);
        };
        auto const who = stores == order_of::own ? f.a : f.b;
        if (stores == order_of::others_after)
          release();
        f.machine.store(who, x, 4, 1, order::relaxed, scope::agent);
        if (stores != order_of::others_after)
          release();
        if (stores == order_of::own) // brings it to the cache that they share
          static_cast<void>(f.machine.load(f.b, x, 4, order::acquire, scope::work_group));
        else
          f.machine.fence(f.b, order::acq_rel, scope::work_group);
        if (releases == how::fence)
          f.machine.store(f.a, y, 4, 1, order::relaxed, scope::agent);
        if (f.machine.load(f.other_group, y, 4, order::acquire, scope::agent).value != 1)
          return 2;
        return f.machine.load(f.other_group, x, 4, order::relaxed, scope::agent).value;
      });
    };
    for (how const h : {how::store, how::fence}) {
      CAPTURE(static_cast<int>(h));
      CHECK_FALSE(seen(h, order_of::own).contains(0));
      CHECK(seen(h, order_of::own).contains(1));
      // Two steps that have nothing to do with each other.
      CHECK(seen(h, order_of::others_before).contains(0));
      CHECK(seen(h, order_of::others_before) == seen(h, order_of::others_after));
    }
  }

  TEST_CASE("loads of one location never go back") {
    CHECK(explore_all([](five& f) {
            f.machine.store(f.a, x, 4, 1, order::relaxed, scope::agent);
            f.machine.fence(f.a, order::release, scope::agent);
            f.machine.store(f.a, x, 4, 2, order::relaxed, scope::agent);
            auto const first = f.machine.load(f.other_group, x, 4).value;
            return first * 10 + f.machine.load(f.other_group, x, 4).value;
          }) == outcomes{0, 1, 2, 11, 12, 22});
  }

  TEST_CASE("a word is as small as its smallest access, and larger ones may tear there") {
    auto const seen = explore_all([](five& f) {
      f.machine.store(f.a, z, 8, 0x0000'0001'0000'0001);
      f.machine.store(f.a, y, 4, 1, order::relaxed, scope::agent);
      static_cast<void>(f.machine.load(f.other_group, z + 4, 4));
      return f.machine.load(f.other_group, z, 8).value;
    });
    CHECK(seen == outcomes{0, 1, 0x1'0000'0000, 0x1'0000'0001});
    CHECK(explore_all([](five& f) {
            f.machine.store(f.a, z, 8, 0x0000'0001'0000'0001);
            return f.machine.load(f.other_group, z, 8).value;
          }) == outcomes{0, 0x1'0000'0001});
  }

  TEST_CASE("what is forgotten takes nothing of its neighbours in the same word with it") {
    constexpr std::uintptr_t begin = x + 4; // to x + 12
    auto const forget = [=](five& f) {
      std::uint64_t written = 0;
      f.machine.forget(begin, 8, [&](std::uintptr_t at, unsigned bytes, std::uint64_t value) {
        CHECK(at >= begin);
        CHECK(at + bytes <= begin + 8);
        written = written * 10 + value;
      });
      return written;
    };
    for (std::uintptr_t const neighbour : {x, x + 12}) {
      CHECK(explore_all([&](five& f) {
              for (unsigned i = 0; i < 4; ++i)
                f.machine.store(f.a, x + 4 * i, 4, i + 1);
              CHECK(forget(f) == 23);
              CHECK(f.machine.load(f.a, begin, 4).value == 0);
              return f.machine.load(f.a, neighbour, 4).value;
            }) == outcomes{neighbour == x ? 1U : 4U});
      CHECK(explore_all([&](five& f) { // still on its way, and known by its tag
              f.machine.store(f.host, begin, 4, 9);
              f.machine.store(f.a, neighbour, 4, 1, order::release, scope::system, 5);
              forget(f);
              return f.machine.load(f.host, neighbour, 4, order::acquire, scope::system).by;
            }) == outcomes{0, 5});
    }
    CHECK(
        explore_all([&](five& f) { // nobody had reached the neighbour: the word may be a whole one
          f.machine.store(f.a, x + 4, 4, 1);
          forget(f);
          f.machine.store(f.a, x, 8, 0x1'0000'0001);
          return f.machine.load(f.other_group, x, 8).value;
        }) == outcomes{0, 0x1'0000'0001});
  }

  TEST_CASE("who waits is let go by stores whose scope includes it, by others perhaps") {
    auto const is_met = [](std::uint64_t v, void*) { return v == 1; };
    enum : std::uint64_t { waits, goes_on, asks_for_ever };
    auto const what_comes = [&](cache_machine::actor_id five::* waiter, order o, scope s) {
      return explore_all([=](five& f) -> std::uint64_t {
        f.machine.store(f.a, x, 4, 1, o, s);
        for (int round = 0; round < 8; ++round) {
          if (f.machine.could_load(f.*waiter, x, 4, order::acquire, scope::system, is_met,
                                   nullptr)) {
            if (f.machine.load_if(f.*waiter, x, 4, order::acquire, scope::system, is_met, nullptr)
                    .value == 1)
              return goes_on;
          } else if (!f.machine.settle()) {
            return waits;
          }
        }
        return asks_for_ever; // what comes by chance is offered once, until something has changed
      });
    };
    for (auto const o : {order::relaxed, order::release})
      for (auto const waiter : {&five::other_agent, &five::host}) {
        CHECK(what_comes(waiter, o, scope::system) == outcomes{goes_on});
        CHECK(what_comes(waiter, o, scope::agent) == outcomes{waits, goes_on});
      }
  }

  TEST_CASE("nobody can go on: relaxed stores come to their scope's level, plain ones need not") {
    CHECK(explore_all([](five& f) {
            f.machine.store(f.a, x, 4, 1, order::relaxed, scope::agent);
            f.machine.store(f.a, y, 4, 1);
            f.machine.settle();
            auto const r = f.machine.load(f.other_group, x, 4, order::acquire, scope::agent).value;
            return r * 2 + f.machine.load(f.other_group, y, 4, order::acquire, scope::agent).value;
          }) == outcomes{2, 3});
  }
}

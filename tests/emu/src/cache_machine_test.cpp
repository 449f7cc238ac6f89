// SPDX-License-Identifier: Apache-2.0
#include "five_actors.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>

namespace {

using namespace quarry_test;

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

  TEST_CASE("nor before what was there when a reader of it acquired, in whatever cache that was") {
    constexpr scope sys = scope::system;
    // `host` hands x over to the reader: who reads x after that does not read what comes before it.
    auto const ends = [](cache_machine::actor_id five::* writer, cache_machine::actor_id five::* by,
                         cache_machine::actor_id five::* third, auto const& acquire) {
      return explore_all([&](five& f) -> std::uint64_t {
        f.machine.store(f.*writer, x, 4, 3, order::relaxed, sys);
        f.machine.store(f.host, x, 4, 1, order::relaxed, sys);
        f.machine.store(f.host, y, 4, 17, order::release, sys);
        if (acquire(f, f.*by) != 17)
          return 0;
        static_cast<void>(f.machine.load(f.*third, x, 4, order::relaxed, sys)); // x comes near
        if (f.machine.load(f.*third, y, 4, order::relaxed, sys).value == 17) {  // no update of it
          f.machine.fence(f.*writer, order::release, sys);
          f.machine.store(f.*writer, z, 4, 1, order::relaxed, sys);
        }
        auto const read = f.machine.load(f.*by, x, 4, order::relaxed, sys).value;
        f.machine.finish();
        return 10 * read + f.machine.final_value(x, 4).value;
      });
    };
    auto const by_load = [](five& f, cache_machine::actor_id who) {
      return f.machine.load(who, y, 4, order::acquire, sys).value;
    };
    auto const by_update = [](five& f, cache_machine::actor_id who) {
      return f.machine
          .update(who, y, 4, order::acq_rel, sys, [](std::uint64_t) { return std::optional(19UL); })
          .value;
    };
    for (auto const& own : {ends(&five::other_group, &five::other_group, &five::a, by_load),
                            ends(&five::other_group, &five::other_group, &five::a, by_update)})
      CHECK(own == outcomes{0, 11, 33});
    CHECK(ends(&five::a, &five::b, &five::other_group, by_load) == outcomes{0, 11, 13, 33});
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
        written += at == begin ? 10 * value : value;
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

  TEST_CASE("who could not load keeps its answer until the word changes, or another one is asked") {
    every_choice choices;
    five f(choices);
    auto const is_one = [](std::uint64_t v, void*) { return v == 1; };
    auto const asks = [&](auto what, std::uintptr_t at, scope s, void* wait) {
      return (f.machine.*what)(f.host, at, 4, order::acquire, s, is_one, wait);
    };
    auto const knows = [&](std::uintptr_t at, scope s, void* wait) {
      return asks(&cache_machine::still_could_not, at, s, wait);
    };
    int one = 0, other = 0;
    CHECK_FALSE(knows(x, scope::system, &one)); // nothing was asked
    CHECK_FALSE(asks(&cache_machine::could_load, x, scope::system, &one));
    CHECK(knows(x, scope::system, &one));
    CHECK_FALSE(knows(x, scope::system, &other));
    CHECK_FALSE(knows(x, scope::work_item, &one));
    CHECK_FALSE(knows(y, scope::system, &one));
    f.machine.store(f.other_agent, x, 4, 1, order::release, scope::system);
    CHECK_FALSE(knows(x, scope::system, &one));
    CHECK(asks(&cache_machine::could_load, x, scope::system, &one));
    CHECK_FALSE(knows(x, scope::system, &one));
  }
  TEST_CASE("so it does not about memory that was given back") {
    every_choice choices;
    five f(choices);
    auto const is_one = [](std::uint64_t v, void*) { return v == 1; };
    CHECK_FALSE(f.machine.could_load(f.a, x, 4, order::acquire, scope::system, is_one, nullptr));
    CHECK(f.machine.still_could_not(f.a, x, 4, order::acquire, scope::system, is_one, nullptr));
    f.machine.forget(x, 64, [](std::uintptr_t, unsigned, std::uint64_t) {});
    CHECK_FALSE(
        f.machine.still_could_not(f.a, x, 4, order::acquire, scope::system, is_one, nullptr));
  }
}

// SPDX-License-Identifier: Apache-2.0
// Acquires: they order with who has released what they read, and with nobody else.
#include "five_actors.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <optional>

namespace {

using namespace quarry_test;

constexpr std::uint64_t too_soon = 8; ///< the reader was there before the flag, or `z`

/// What the host thread sees of x, which the other agent has released by the flag y, and which it
/// knew before: it reads the flag relaxed, then, by `acquire`, z, where `writes` left 1.
outcomes seen(std::function<void(five&)> const& writes,
              std::function<std::uint64_t(five&)> const& acquire) {
  return explore_all([&](five& f) -> std::uint64_t {
    f.machine.load(f.host, x, 4, order::relaxed, scope::system);
    writes(f);
    f.machine.store(f.other_agent, x, 4, 1, order::relaxed, scope::system);
    f.machine.store(f.other_agent, y, 4, 1, order::release, scope::system);
    if (f.machine.load(f.host, y, 4, order::relaxed, scope::system).value == 0 || acquire(f) == 0)
      return too_soon;
    return f.machine.load(f.host, x, 4, order::relaxed, scope::system).value;
  });
}

std::uint64_t load_z(five& f, order o = order::acquire) {
  return f.machine.load(f.host, z, 4, o, scope::system).value;
}

void store_z(five& f, cache_machine::actor_id who, order o) {
  f.machine.store(who, z, 4, 1, o, scope::system);
}

/// Whether x is there for whoever has read the flag relaxed.
bool is_fence(
    std::function<void(five&)> const& writes,
    std::function<std::uint64_t(five&)> const& acquire = [](five& f) { return load_z(f); }) {
  auto const all = seen(writes, acquire);
  CHECK(all.contains(1));
  return !all.contains(0);
}

} // namespace

TEST_SUITE("emu.cache_acquires") {
  TEST_CASE("an acquire of what nobody else has released is no fence") {
    auto const nothing = [](five&) {};
    // Memory's first value, for a load and for an update.
    for (order const o : {order::relaxed, order::acquire, order::seq_cst})
      CHECK(seen(nothing, [o](five& f) { return 1 + load_z(f, o); }).contains(0));
    auto const update = [](order o) {
      return [o](five& f) {
        add(f, f.host, z, o, scope::system);
        return std::uint64_t{1};
      };
    };
    CHECK(seen(nothing, update(order::acquire)).contains(0));
    CHECK(seen(nothing, update(order::acq_rel)).contains(0));
    CHECK_FALSE(seen(nothing, update(order::seq_cst)).contains(0));
    auto const by_fence = [](five& f) {
      f.machine.fence(f.host, order::acquire, scope::system);
      return std::uint64_t{1};
    };
    CHECK(seen(nothing, by_fence) == outcomes{1, too_soon});

    CHECK_FALSE(is_fence([](five& f) { store_z(f, f.a, order::relaxed); }));
    CHECK_FALSE(is_fence([](five& f) { f.machine.store(f.a, z, 4, 1); }));
    CHECK_FALSE(is_fence([](five& f) { add(f, f.a, z, order::acquire, scope::system); }));
    CHECK_FALSE(is_fence([](five& f) { store_z(f, f.host, order::release); })); // its own
    CHECK_FALSE(is_fence([](five& f) { add(f, f.host, z, order::acq_rel, scope::system); }));
    CHECK_FALSE(is_fence([](five& f) { // a barrier, or a launch, is no fence for what comes later
      f.machine.synchronise(f.a, order::release, scope::system);
      store_z(f, f.a, order::relaxed);
    }));
    CHECK_FALSE(is_fence([](five& f) { // a release of another word
      f.machine.store(f.a, y + 4, 4, 1, order::release, scope::system);
      store_z(f, f.a, order::relaxed);
    }));
    CHECK_FALSE(is_fence([](five& f) { // somebody else's store puts an end to it
      f.machine.store(f.a, z, 4, 2, order::release, scope::system);
      f.machine.perform_delayed(f.a);
      store_z(f, f.b, order::relaxed);
    }));
  }

  TEST_CASE("an acquire of what somebody else has released is one, however it came to be there") {
    for (order const o : {order::acquire, order::seq_cst}) {
      auto const acquire = [o](five& f) { return load_z(f, o); };
      CHECK(is_fence([](five& f) { store_z(f, f.a, order::release); }, acquire));
      CHECK(is_fence([](five& f) { store_z(f, f.a, order::seq_cst); }, acquire));
      CHECK(is_fence([](five& f) { add(f, f.a, z, order::release, scope::system); }, acquire));
      CHECK(is_fence(
          [](five& f) {
            f.machine.fence(f.a, order::release, scope::system);
            store_z(f, f.a, order::relaxed);
          },
          acquire));
      CHECK(is_fence(
          [](five& f) {
            f.machine.release_later(f.a, scope::system);
            store_z(f, f.a, order::relaxed);
          },
          acquire));
      CHECK(is_fence( // a later write of who has released
          [](five& f) {
            f.machine.store(f.a, z, 4, 2, order::release, scope::system);
            store_z(f, f.a, order::relaxed);
          },
          acquire));
      CHECK(is_fence( // somebody else's update, the reader's own as well
          [](five& f) {
            f.machine.store(f.a, z, 4, 2, order::release, scope::system);
            f.machine.perform_delayed(f.a);
            add(f, f.b, z, order::relaxed, scope::system);
          },
          acquire));
      CHECK(is_fence(
          [](five& f) {
            f.machine.store(f.a, z, 4, 2, order::release, scope::system);
            f.machine.perform_delayed(f.a);
            add(f, f.host, z, order::release, scope::system);
          },
          acquire));
      CHECK(is_fence( // of one of the words that are read
          [](five& f) { f.machine.store(f.a, z + 4, 4, 1, order::release, scope::system); },
          [o](five& f) {
            static_cast<void>(f.machine.load(f.host, z, 4));
            return f.machine.load(f.host, z, 8, o, scope::system).value;
          }));
    }
    CHECK(is_fence([](five& f) { store_z(f, f.a, order::release); },
                   [](five& f) {
                     return f.machine
                         .update(f.host, z, 4, order::acquire, scope::system,
                                 [](std::uint64_t) { return std::optional<std::uint64_t>(); })
                         .value;
                   }));
  }

  TEST_CASE("what the actor has acquired before is no news, unless it was at a narrower scope") {
    using writes = std::function<void(five&)>;
    writes const by_store = [](five& f) { store_z(f, f.a, order::release); };
    writes const by_update = [](five& f) { add(f, f.a, z, order::release, scope::system); };
    writes const by_fence = [](five& f) {
      f.machine.fence(f.a, order::release, scope::system);
      store_z(f, f.a, order::relaxed);
    };
    for (writes const& write : {by_store, by_update, by_fence}) {
      auto const is_fence_again = [&](std::uint64_t value, writes const& meanwhile) {
        return is_fence(
            [&](five& f) {
              write(f);
              static_cast<void>(load_z(f));
              meanwhile(f);
            },
            [value](five& f) { return load_z(f) == value ? std::uint64_t{1} : 0; });
      };
      CHECK_FALSE(is_fence_again(1, [](five&) {}));
      CHECK(is_fence_again(
          2, [](five& f) { f.machine.store(f.b, z, 4, 2, order::release, scope::system); }));
      CHECK(is_fence_again(2, [](five& f) { add(f, f.b, z, order::relaxed, scope::system); }));
    }
    for (scope const first : {scope::agent, scope::system}) {
      auto const all = explore_all([first](five& f) -> std::uint64_t {
        auto const load = [&](std::uintptr_t at, order o, scope s) {
          return f.machine.load(f.other_group, at, 4, o, s).value;
        };
        load(x, order::relaxed, scope::system);
        store_z(f, f.other_agent, order::release);
        f.machine.perform_delayed(f.other_agent);
        load(z, order::acquire, first);
        f.machine.store(f.other_agent, x, 4, 1, order::relaxed, scope::system);
        f.machine.store(f.other_agent, y, 4, 1, order::release, scope::system);
        if (load(y, order::relaxed, scope::system) == 0)
          return too_soon;
        load(z, order::acquire, scope::system);
        return load(x, order::relaxed, scope::system);
      });
      CHECK(all.contains(1));
      CHECK(all.contains(0) == (first == scope::system));
    }
  }

  TEST_CASE("a word does not go back behind an acquire that invalidates nothing") {
    auto const exchange = [](five& f, std::uint64_t value, scope s) {
      f.machine.update(f.other_group, x, 4, order::relaxed, s,
                       [value](std::uint64_t) { return std::optional(value); });
    };
    auto const all = explore_all([&](five& f) {
      f.machine.store(f.a, x, 4, 1, order::relaxed, scope::agent);
      exchange(f, 2, scope::agent);
      exchange(f, 3, scope::system);
      auto const first = f.machine.load(f.a, x, 4, order::acquire, scope::system).value;
      return 10 * first + f.machine.load(f.a, x, 4, order::relaxed, scope::agent).value;
    });
    CHECK(all.contains(23)); // what the later update has overwritten is still seen
    CHECK_FALSE(all.contains(21));
    CHECK_FALSE(all.contains(31));
  }

  TEST_CASE("what was released in an execution is none in the next one") {
    every_choice choices;
    five f(choices);
    store_z(f, f.a, order::release);
    f.machine.fence(f.b, order::release, scope::system);
    f.machine.finish();
    auto const state = [&](five& g, cache_machine::actor_id five::* who) {
      g.machine.reset();
      store_z(g, g.*who, order::relaxed);
      g.machine.finish();
      return g.machine.hash();
    };
    every_choice others;
    five fresh(others);
    CHECK(state(f, &five::a) == state(fresh, &five::a));
    CHECK(state(f, &five::b) == state(fresh, &five::b));
  }

  TEST_CASE("whose releases a write is part of, and who has fenced, is part of the state") {
    every_choice choices;
    five f(choices);
    auto const state = [&](std::function<void()> const& program) {
      f.machine.reset();
      program();
      f.machine.finish();
      return f.machine.hash();
    };
    auto const relaxed = state([&] { store_z(f, f.a, order::relaxed); });
    CHECK(relaxed == state([&] { store_z(f, f.a, order::relaxed); }));
    CHECK(relaxed != state([&] { store_z(f, f.a, order::release); }));
    CHECK(state([] {}) ==
          state([&] { f.machine.synchronise(f.a, order::release, scope::system); }));
    CHECK(state([] {}) != state([&] { f.machine.fence(f.a, order::release, scope::system); }));
  }
}

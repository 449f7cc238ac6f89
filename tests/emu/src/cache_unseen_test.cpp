// SPDX-License-Identifier: Apache-2.0
// Releases by updates: they order what came before with who sees the update, and with nobody else.
#include "five_actors.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace {

using namespace quarry_test;

using actor_of = cache_machine::actor_id five::*;

/// Somebody who is as near to the first wavefront as the scope asks for.
struct reader {
  actor_of who;
  scope near;
};
constexpr reader readers[]{{&five::b, scope::work_group},
                           {&five::b, scope::system},
                           {&five::other_group, scope::agent},
                           {&five::other_agent, scope::system},
                           {&five::host, scope::system}};

constexpr std::uint64_t not_there = 8;

/// What the reader sees of x, which the first wavefront stores before `then`, once it has acquired
/// `value` at the address: by that load, or by a fence behind it.
outcomes seen(reader const& by, std::uintptr_t at, std::uint64_t value,
              std::function<void(five&)> const& then, order load = order::acquire) {
  return explore_all([&](five& f) -> std::uint64_t {
    f.machine.store(f.a, x, 4, 1, order::relaxed, by.near);
    then(f);
    if (f.machine.load(f.*by.who, at, 4, load, by.near).value != value)
      return not_there;
    if (load == order::relaxed)
      f.machine.fence(f.*by.who, order::acquire, by.near);
    return f.machine.load(f.*by.who, x, 4, order::relaxed, by.near).value;
  });
}

} // namespace

TEST_SUITE("emu.cache_unseen") {
  TEST_CASE("an update that releases is no fence: a later relaxed store is there before x is") {
    for (reader const& r : readers) {
      auto const behind = [&](std::function<void(five&)> const& what) {
        auto const then = [&](five& f) {
          what(f);
          f.machine.store(f.a, z, 4, 1, order::relaxed, r.near);
        };
        return seen(r, z, 1, then, order::relaxed);
      };
      for (order const o : {order::release, order::acq_rel})
        CHECK(behind([&](five& f) { add(f, f.a, y, o, r.near); }) == outcomes{0, 1, not_there});
      CHECK(behind([&](five& f) { add(f, f.a, y, order::seq_cst, r.near); }) ==
            outcomes{1, not_there});
      CHECK(behind([&](five& f) { f.machine.fence(f.a, order::release, r.near); }) ==
            outcomes{1, not_there});
      // Nor is it a later update that does not release.
      auto const then_another = [&](five& f) {
        add(f, f.a, y, order::release, r.near);
        add(f, f.a, z, order::relaxed, r.near);
      };
      CHECK(seen(r, z, 1, then_another, order::relaxed).contains(0));
    }
  }

  TEST_CASE("who sees the update, or what comes of it, sees x") {
    for (reader const& r : readers) {
      auto const has_it = [&](std::uint64_t value, std::function<void(five&)> const& then) {
        outcomes const all = seen(r, y, value, then); // its own updates are there in any case
        return all.contains(1) && !all.contains(0);
      };
      for (order const o : {order::release, order::acq_rel})
        CHECK(has_it(1, [&](five& f) { add(f, f.a, y, o, r.near); }));
      for (order const second : {order::relaxed, order::release}) {
        CHECK(has_it(2, [&](five& f) { // somebody else's update goes on with it
          add(f, f.a, y, order::release, r.near);
          add(f, f.b, y, second, r.near);
        }));
        CHECK(has_it(2, [&](five& f) { // and its own
          add(f, f.a, y, order::release, r.near);
          add(f, f.a, y, second, r.near);
        }));
        CHECK(has_it(5, [&](five& f) {
          add(f, f.a, y, order::release, r.near);
          f.machine.store(f.a, y, 4, 5, second, r.near);
        }));
      }
      CHECK(has_it(2, [&](five& f) { // a narrower one of its own
        add(f, f.a, y, order::release, r.near);
        add(f, f.a, y, order::release, scope::work_group);
      }));
    }
    // Somebody else's store does not.
    CHECK(seen(readers[4], y, 5, [](five& f) {
            add(f, f.a, y, order::release, scope::system);
            f.machine.store(f.b, y, 4, 5, order::release, scope::system);
          }).contains(0));
  }

  TEST_CASE("each of two updates hands over what came before it") {
    auto const pairs = explore_all([](five& f) {
      f.machine.store(f.a, x, 4, 1, order::relaxed, scope::system);
      add(f, f.a, y, order::release, scope::system);
      f.machine.store(f.a, x, 4, 2, order::relaxed, scope::system);
      add(f, f.a, y, order::release, scope::system);
      auto const at = f.machine.load(f.host, y, 4, order::acquire, scope::system).value;
      return 10 * at + f.machine.load(f.host, x, 4, order::relaxed, scope::system).value;
    });
    CHECK(pairs == outcomes{0, 1, 2, 11, 12, 22});
  }

  TEST_CASE("it takes along what was released before it, and what had been acquired") {
    CHECK(seen(readers[4], z, 1, [](five& f) { // a store that is delayed
            f.machine.store(f.a, y, 4, 1, order::release, scope::work_group);
            add(f, f.a, z, order::release, scope::system);
          }) == outcomes{1, not_there});
    for (bool const by_update : {false, true}) // the other wavefront's
      CHECK(seen(readers[4], z, 1, [&](five& f) {
              if (by_update)
                add(f, f.a, y, order::release, scope::work_group);
              else
                f.machine.store(f.a, y, 4, 1, order::release, scope::work_group);
              if (f.machine.load(f.b, y, 4, order::acquire, scope::work_group).value == 1)
                add(f, f.b, z, order::release, scope::system);
            }) == outcomes{1, not_there});
    CHECK(seen(readers[4], y, 2, [](five& f) { // at once
            add(f, f.a, y, order::release, scope::work_group);
            add(f, f.b, y, order::acq_rel, scope::system);
          }) == outcomes{1, not_there});
  }

  TEST_CASE("a seq_cst update releases what it has acquired, and comes right after what it read") {
    for (scope const narrow : {scope::work_group, scope::agent, scope::system})
      CHECK(seen(readers[4], y, 2, [&](five& f) {
              add(f, f.a, y, order::release, narrow);
              add(f, f.b, y, order::seq_cst, scope::system);
            }) == outcomes{1});
    // What it brings along is there after its write, not between its read and its write.
    auto const swap = [](five& f, cache_machine::actor_id who, std::uintptr_t at, std::uint64_t v,
                         order o) {
      return f.machine
          .update(who, at, 4, o, scope::system, [v](std::uint64_t) { return std::optional(v); })
          .value;
    };
    CHECK(!explore_all([&](five& f) -> std::uint64_t {
             f.machine.store(f.other_group, x, 4, 1, order::relaxed, scope::system);
             swap(f, f.other_group, y, 17, order::release);
             auto const b = swap(f, f.b, x, 3, order::release);
             static_cast<void>(f.machine.load(f.a, x, 4, order::relaxed, scope::system));
             auto const host = swap(f, f.host, x, 2, order::seq_cst);
             f.machine.finish();
             return 100 * b + 10 * host + f.machine.final_value(x, 4).value;
           }).contains(32)); // 0, 3, 2: then 1 is the last
  }

  TEST_CASE("an update that writes nothing releases nothing") {
    for (reader const& r : readers)
      CHECK(seen(r, z, 1, [&](five& f) {
              f.machine.update(f.a, y, 4, order::acq_rel, r.near,
                               [](std::uint64_t) { return std::optional<std::uint64_t>(); });
              f.machine.store(f.a, z, 4, 1, order::relaxed, r.near);
            }).contains(0));
  }

  TEST_CASE("a word that is read in parts has been released, which leaves something out") {
    bool left_out = false;
    CHECK(explore_all([&](five& f) -> std::uint64_t {
            f.machine.note_left_out(&left_out);
            f.machine.store(f.a, x, 4, 1, order::relaxed, scope::system);
            add(f, f.a, y, order::release, scope::system);
            if (f.machine.load(f.host, y, 2, order::acquire, scope::system).value != 1)
              return not_there;
            return f.machine.load(f.host, x, 4, order::relaxed, scope::system).value;
          }) == outcomes{1});
    CHECK(left_out);
  }

  TEST_CASE(
      "as many as there are; of one more, the first takes place, which leaves something out") {
    for (std::size_t const words : {cache_machine::most_unseen, cache_machine::most_unseen + 1}) {
      bool left_out = false;
      auto const release_all = [&](five& f) {
        f.machine.note_left_out(&left_out);
        for (std::size_t i = 0; i < words; ++i)
          add(f, f.a, y + 4 * i, order::release, scope::system);
        f.machine.store(f.a, z, 4, 1, order::relaxed, scope::system);
      };
      CHECK(seen(readers[4], z, 1, release_all, order::relaxed).contains(0) ==
            (words == cache_machine::most_unseen));
      CHECK(left_out == (words > cache_machine::most_unseen));
    }
  }

  TEST_CASE("whether somebody has seen it is part of the state, and so is what it releases") {
    every_choice choices;
    five f(choices);
    auto const state = [&](std::function<void()> const& program) {
      f.machine.reset();
      program();
      return f.machine.hash();
    };
    auto const store = [&](std::uintptr_t at) {
      f.machine.store(f.a, at, 4, 1, order::relaxed, scope::system);
    };
    auto const release = [&] { add(f, f.a, y, order::release, scope::system); };
    auto const first = state([&] { store(x), release(), store(z); });
    CHECK(first == state([&] { store(x), release(), store(z); }));
    CHECK(first != state([&] { store(x), store(z), release(); }));
    CHECK(first != state([&] { store(z), release(), store(x); }));
    CHECK(first != state([&] { release(), store(x), store(z); }));
  }
}

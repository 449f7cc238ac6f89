// SPDX-License-Identifier: Apache-2.0
#include "hrf_comparison.hpp"
#include "hrf_programs.hpp"
#include "race_accesses.hpp"
#include "race_detector.hpp"
#include "repetitions.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace quarry::emu;
using detector = race_detector;
using namespace quarry::emu::hrf; // NOLINT: steps
using why = detector::missing_edge;

constexpr std::uintptr_t x = 0x1000, y = 0x1040, flag = 0x1080;

std::string name_of(std::uint32_t actor) {
  return "actor " + std::to_string(actor);
}

} // namespace

TEST_SUITE("emu.race_detector") {
  TEST_CASE("message passing races unless both sides synchronise, at scopes that include both") {
    detector d = make_detector();
    for (std::uint32_t const reader : {b, other_group, other_agent, host})
      for (order const release : orders)
        for (order const acquire : orders)
          for (scope const wide : scopes)
            for (scope const far : scopes)
              for (bool const is_update : {false, true}) {
                program const p{
                    store(a, x),
                    is_update ? update(a, flag, release, wide) : store(a, flag, release, wide),
                    is_update ? update(reader, flag, acquire, far, 1)
                              : load(reader, flag, acquire, far, 1),
                    load(reader, x),
                };
                auto const found = run(d, p);
                bool const reaches_out = hrf::includes(everybody[a], wide, everybody[reader]);
                bool const reaches_back = hrf::includes(everybody[reader], far, everybody[a]);
                bool const is_wide = reaches_out && reaches_back;
                bool const is_right = is_wide && hrf::releases(release) && hrf::acquires(acquire);
                REQUIRE(found[2].has_value() == !is_wide); // the flag's own accesses
                REQUIRE(found[3].has_value() == !is_right);
                if (is_right)
                  continue;
                REQUIRE(found[3]->missing == (!hrf::releases(release)   ? why::no_release
                                              : !reaches_out            ? why::narrow_release
                                              : !hrf::acquires(acquire) ? why::no_acquire
                                                                        : why::narrow_acquire));
                REQUIRE(!races_with(mended(p, *found[3]), 0, 3));
                for (auto const& c : found[3]->changes) {
                  REQUIRE(c.scope == found[3]->scope);
                  program narrower = mended(p, *found[3]);
                  narrower[c.what.step - 1].scope =
                      static_cast<scope>(static_cast<int>(c.scope) - 1);
                  REQUIRE(races_with(narrower, 0, 3));
                }
              }
  }

  TEST_CASE("all forms of message passing with fences are what the definition says") {
    detector d = make_detector();
    for (std::uint32_t const reader : {b, other_group, host})
      for (order const first : orders)
        for (order const second : orders)
          for (scope const s1 : scopes)
            for (scope const s2 : scopes)
              for (scope const s3 : scopes)
                for (scope const s4 : scopes)
                  for (bool const is_late : {false, true}) {
                    program p{store(a, x),
                              fence(a, first, s1),
                              store(a, flag, order::relaxed, s2),
                              load(reader, flag, order::relaxed, s3, 2),
                              fence(reader, second, s4),
                              store(reader, x)};
                    if (is_late) // a fence before the access that it should come after
                      std::swap(p[0], p[1]);
                    REQUIRE(agrees(d, p));
                  }
  }

  TEST_CASE("the consumer's index: a missing release races with the next write of the slot") {
    auto const slot = [](order o, scope s) {
      return program{load(other_group, x), store(other_group, flag, o, s),
                     load(a, flag, order::acquire, scope::agent, 1), store(a, x)};
    };
    CHECK(!is_racy(slot(order::release, scope::agent)));
    auto const race = last_race(slot(order::relaxed, scope::agent));
    REQUIRE(race);
    CHECK(race->first.what == kind::load);
    CHECK(race->second.what == kind::store);
    CHECK(race->missing == why::no_release);
    CHECK(last_race(slot(order::release, scope::work_group))->missing == why::narrow_release);
  }

  TEST_CASE("a chain through a third actor, of two scopes, is ordered; HRF-direct says not") {
    auto const chain = [](scope first, scope second) {
      return program{store(a, x),
                     store(a, flag, order::release, first),
                     load(b, flag, order::acquire, first, 1),
                     store(b, y, order::release, second),
                     load(other_group, y, order::acquire, second, 3),
                     load(other_group, x)};
    };
    CHECK(!is_racy(chain(scope::work_group, scope::agent)));
    CHECK(!is_racy(chain(scope::agent, scope::agent), true));
    auto const lint = last_race(chain(scope::work_group, scope::agent), true);
    REQUIRE(lint);
    CHECK(lint->missing == why::different_scopes);
    CHECK(lint->scope == scope::agent);
    CHECK(lint->first.step == 1);
    // Release and acquire of scopes that include both, but are not the same
    program mixed = chain(scope::agent, scope::agent);
    mixed[1].scope = scope::system;
    CHECK(!is_racy(mixed));
    CHECK(is_racy(mixed, true));
  }

  TEST_CASE("updates continue a release, whatever their own order; stores do not") {
    auto const through = [](step between) {
      between.from = between.access == kind::update ? 1 : -1;
      return program{store(a, x), store(a, flag, order::release, scope::agent), between,
                     load(other_group, flag, order::acquire, scope::agent, 2),
                     load(other_group, x)};
    };
    CHECK(!is_racy(through(update(b, flag, order::relaxed, scope::agent))));
    CHECK(is_racy(through(store(b, flag, order::relaxed, scope::agent))));
    program unreleased = through(update(b, flag, order::release, scope::agent));
    unreleased[1].order = order::relaxed;
    auto const race = last_race(unreleased);
    REQUIRE(race);
    REQUIRE(race->changes.size() == 1); // the store, rather than an acquire in the update
    CHECK(race->changes[0].what.step == 2);
  }

  TEST_CASE("an update that does not know what it continues passes it on") {
    program p{store(a, x), store(a, flag, order::release, scope::agent),
              update(b, flag, order::release, scope::agent, 1),
              load(other_group, flag, order::acquire, scope::agent, 2), load(other_group, x)};
    CHECK(!is_racy(p));
    // Nor does the lint, if b knows through another scope
    p.insert(p.begin() + 2, {store(a, y, order::release, scope::work_group),
                             load(b, y, order::acquire, scope::work_group, 2)});
    p[4].from = 1;
    p[5].from = 4;
    CHECK(!is_racy(p, true));
  }

  TEST_CASE("a fence acquires from all loads before it, and releases to all stores after it") {
    CHECK(!is_racy({store(a, flag, order::release, scope::agent), store(a, x),
                    store(a, flag, order::release, scope::agent),
                    load(other_group, flag, order::relaxed, scope::agent, 0),
                    load(other_group, flag, order::relaxed, scope::agent, 2),
                    fence(other_group, order::acquire, scope::agent), load(other_group, x)}));
    auto const met = [](std::uint32_t reader, scope s) {
      return program{store(a, x), meet({a, b}), store(b, flag, order::relaxed, s),
                     load(reader, flag, order::acquire, s, 2), load(reader, x)};
    };
    CHECK(!is_racy(met(c, scope::work_group)));
    CHECK(is_racy(met(other_group, scope::agent)));
  }

  TEST_CASE("what an update continues stays as wide, or as near, as it was") {
    // a's second release is too narrow for the host, who still has the first one.
    detector d = make_detector();
    CHECK(!run(d, {store(a, x), update(a, flag, order::release, scope::system),
                   update(a, flag, order::release, scope::work_group, 1),
                   load(host, flag, order::acquire, scope::system, 2), load(host, x)})
               .back());
    // b's fence includes a, not who passed a's release on.
    CHECK(!is_racy({store(a, x), store(a, flag, order::release, scope::agent),
                    update(other_group, flag, order::acq_rel, scope::agent, 1),
                    load(b, flag, order::relaxed, scope::agent, 2),
                    fence(b, order::acquire, scope::work_group), load(b, x)}));
  }

  TEST_CASE("of a fence and its load the narrower scope counts, for the lint too") {
    program const p{store(a, x), store(a, flag, order::release, scope::agent),
                    load(b, flag, order::relaxed, scope::work_group, 1),
                    fence(b, order::acquire, scope::agent), load(b, x)};
    CHECK(!is_racy(p));
    CHECK(is_racy(p, true));
  }

  TEST_CASE("of several remedies, that of the two themselves is named") {
    auto const race =
        last_race({store(a, x), store(a, flag, order::release, scope::work_group),
                   update(b, flag, order::relaxed, scope::agent, 1),
                   store(b, y, order::release, scope::agent),
                   load(other_group, y, order::acquire, scope::agent, 3),
                   load(other_group, flag, order::acquire, scope::agent, 2), load(other_group, x)});
    REQUIRE(race);
    REQUIRE(race->changes.size() == 1);
    CHECK(race->changes[0].why == why::narrow_release); // rather than b's update: no acquire
    CHECK(race->changes[0].what.actor == a);
  }

  TEST_CASE("what is missing may be several operations on the way") {
    program p{store(other_group, x),
              store(other_group, flag, order::relaxed, scope::agent),
              load(b, flag, order::relaxed, scope::agent, 1),
              fence(b, order::acq_rel, scope::work_group),
              store(b, y, order::relaxed, scope::system),
              load(host, y, order::acquire, scope::system, 4),
              load(host, x)};
    auto const race = last_race(p);
    REQUIRE(race);
    REQUIRE(race->changes.size() == 2);
    CHECK(race->changes[0].why == why::no_release);
    CHECK(race->changes[0].what.step == 2);
    CHECK(race->changes[0].scope == scope::agent); // other_group and b
    CHECK(race->changes[1].why == why::narrow_acquire);
    CHECK(race->changes[1].what.what == kind::fence);
    CHECK(race->changes[1].scope == scope::system); // as a release, to the host
    // A fence that comes too late
    std::swap(p[3], p[4]);
    p[5].from = 3;
    auto const late = last_race(p);
    REQUIRE(late);
    REQUIRE(late->changes.size() == 3);
    CHECK(late->changes[1].why == why::no_acquire);
    CHECK(late->changes[2].why == why::no_release);
  }

  TEST_CASE("atomic accesses race if the scope of either does not include the other actor") {
    CHECK(!is_racy({update(a, x, order::relaxed, scope::work_group),
                    update(b, x, order::relaxed, scope::work_group)}));
    auto const race = last_race({update(a, x, order::relaxed, scope::work_group),
                                 load(other_group, x, order::relaxed, scope::agent, 0)});
    REQUIRE(race);
    CHECK(race->missing == why::exclusive_scopes);
    REQUIRE(race->changes.size() == 1);
    CHECK(race->changes[0].what.step == 1);
    CHECK(race->changes[0].scope == scope::agent);
    CHECK(is_racy({store(a, x, order::relaxed, scope::system), load(b, x)}));
  }

  TEST_CASE("accesses race in the bytes that they share") {
    for (std::uintptr_t at = x - 16; at < x + 24; ++at)
      for (unsigned bytes = 1; bytes <= 32; ++bytes) {
        step written = store(a, x), read = load(b, at);
        written.bytes = 11;
        read.bytes = bytes;
        REQUIRE(is_racy({written, read}) == (at < x + 11 && x < at + bytes));
      }
  }

  TEST_CASE("what meets, or is received, is before what follows") {
    CHECK(!is_racy({store(a, x), store(b, y), meet({a, b}), store(b, x), store(a, y)}));
    CHECK(is_racy({store(a, x), meet({a, b}), store(a, x), load(b, x)}));
    CHECK(!is_racy({store(host, x), hrf::signal(host), receive(a, 1), load(a, x), hrf::signal(a),
                    receive(host, 4), store(host, x)}));
    CHECK(is_racy({hrf::signal(host), store(host, x), receive(a, 0), load(a, x)}));
    CHECK(last_race({store(a, x), load(host, x)})->missing == why::no_synchronisation);
  }

  TEST_CASE("many words and many actors; nothing of them is left after a reset") {
    detector d = make_detector();
    detector::write_id id = 0;
    std::mt19937_64 random(1); // NOLINT: the same addresses always
    std::vector<std::uintptr_t> words;
    for (int round = 0; round < 3; ++round) {
      words.clear();
      for (int i = 0; i < 2000; ++i)
        words.push_back((random() >> 16) * 16 + (i % 2 != 0 ? 0 : 0x100000));
      for (auto const at : words)
        REQUIRE(!d.store(plain(a, at, 8), id));
      for (auto const at : words)
        REQUIRE(!d.load(plain(b, at + 8, 8), 0));
      for (auto const at : words)
        REQUIRE(d.load(plain(b, at, 8), 0)->first.address == at);
      d.store(atomic(a, flag, 4, order::release, scope::system), id);
      CHECK(id == 1);
      d.load(atomic(b, flag, 4, order::acquire, scope::system), id);
      // Actors that come later
      auto const first = static_cast<std::uint32_t>(d.actor_count());
      for (std::uint32_t n = first; n < first + 20; ++n) {
        d.add_actor(n, {0, 0, 100 + n, n});
        d.load(atomic(n, flag, 4, order::acquire, scope::system), id);
        REQUIRE(!d.load(plain(n, words[n], 8), 0));
        REQUIRE(!d.load(plain(b, words[n], 8), 0));
      }
      d.reset();
      CHECK(d.next_write() == 1);
    }
  }

  TEST_CASE("an actor may move before it has done anything") {
    detector d = make_detector();
    detector::write_id id = 0;
    d.add_actor(other_group, everybody[a]);
    d.update(atomic(a, x, 4, order::relaxed, scope::work_group), 0, true, id);
    CHECK(!d.update(atomic(other_group, x, 4, order::relaxed, scope::work_group), 0, true, id));
  }

  TEST_CASE("random programs: every verdict is the definition's") {
    random_programs programs(1, static_cast<std::uint32_t>(everybody.size()));
    detector indirect = make_detector(), direct = make_detector(true);
    std::size_t const count = quarry_test::fewer(std::size_t{40'000});
    std::size_t racy = 0, right = 0;
    for (std::size_t n = 0; n < count; ++n) {
      CAPTURE(n);
      program const p = programs.next();
      REQUIRE(agrees(indirect, p));
      REQUIRE(agrees(direct, p, true));
      ++(is_racy(p) ? racy : right);
    }
    CHECK(racy > count / 40);
    CHECK(right > count / 40);
  }

  TEST_CASE("a report names both parties, where they are, what is missing and what would do") {
    detector d = make_detector();
    detector::write_id id = 0;
    auto const here = std::source_location::current();
    auto const located = [&](detector::access what) {
      what.at.where = here;
      return what;
    };
    d.store(located(plain(a, x, 4, 3)), id);
    d.store(located(atomic(a, flag, 4, order::release, scope::work_group)), id);
    d.load(located(atomic(other_group, flag, 4, order::acquire, scope::agent)), id);
    auto const race = d.load(located(plain(other_group, x + 2, 2)), 0);
    REQUIRE(race);
    auto const line = "race_detector_test.cpp:" + std::to_string(here.line());
    CHECK(to_string(*race, name_of, [](auto) { return std::string("there"); }) ==
          "race: release too narrow\n"
          "  first    actor 0 lane 3, " +
              line +
              ": plain store, 4 bytes at there\n"
              "  second   actor 3, " +
              line +
              ": plain load, 2 bytes at there\n"
              "  missing  release too narrow in actor 0, " +
              line +
              ": release store at work_group "
              "scope, 4 bytes at there\n"
              "           needs release, agent scope or wider\n");
  }
}

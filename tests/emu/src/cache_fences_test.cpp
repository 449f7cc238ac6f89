// SPDX-License-Identifier: Apache-2.0
// Which fences keep a store before the loads that come after it: those that are seq_cst, for whom
// their scope has in it.
#include "five_actors.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>

using namespace quarry_test;

namespace {

using actor_id = cache_machine::actor_id;

struct access_order {
  std::optional<order> how; ///< none: plain
  scope far = scope::system;
};

void store(cache_machine& m, actor_id who, std::uintptr_t at, access_order o) {
  if (o.how)
    m.store(who, at, 4, 1, *o.how, o.far);
  else
    m.store(who, at, 4, 1);
}
std::uint64_t load(cache_machine& m, actor_id who, std::uintptr_t at, access_order o) {
  return (o.how ? m.load(who, at, 4, *o.how, o.far) : m.load(who, at, 4)).value;
}

/// Whether neither sees the other's store, where one has that fence between its store and its load,
/// and the other one as strong a fence as there is.
template<class Fence>
bool passes(actor_id five::* one, actor_id five::* other, access_order stores, Fence const& fence) {
  access_order const loads{stores.how ? std::optional(order::acquire) : std::nullopt};
  return explore_all([&](five& f) -> std::uint64_t {
           store(f.machine, f.*one, x, stores);
           fence(f, f.*one);
           std::uint64_t const first = load(f.machine, f.*one, y, loads);
           store(f.machine, f.*other, y, stores);
           f.machine.fence(f.*other, order::seq_cst, scope::system);
           return 10 * first + load(f.machine, f.*other, x, loads);
         })
      .contains(0);
}

constexpr access_order all_stores[] = {
    {std::nullopt}, {order::relaxed}, {order::release}, {order::release, scope::agent}};

} // namespace

TEST_SUITE("emu.cache_fences") {
  TEST_CASE("a store does not pass a seq_cst fence whose scope has who looks in it") {
    struct row {
      actor_id five::* one;
      actor_id five::* other;
      scope far;
      bool is_in;
    };
    for (row const& r : {row{&five::a, &five::b, scope::work_group, true},
                         row{&five::a, &five::b, scope::system, true},
                         row{&five::a, &five::other_group, scope::work_item, false},
                         row{&five::a, &five::other_group, scope::work_group, false},
                         row{&five::a, &five::other_group, scope::agent, true},
                         row{&five::a, &five::other_agent, scope::agent, false},
                         row{&five::a, &five::other_agent, scope::system, true},
                         row{&five::a, &five::host, scope::agent, false},
                         row{&five::a, &five::host, scope::system, true},
                         row{&five::host, &five::a, scope::work_item, false},
                         row{&five::host, &five::a, scope::work_group, false},
                         row{&five::host, &five::a, scope::system, true}}) {
      CAPTURE(static_cast<int>(r.far));
      CAPTURE(r.is_in);
      for (access_order const& stores : all_stores) {
        auto const fence = [&](five& f, actor_id who) {
          f.machine.fence(who, order::seq_cst, r.far);
        };
        CHECK(passes(r.one, r.other, stores, fence) == !r.is_in);
      }
      // Of another word.
      auto const update = [&](five& f, actor_id who) {
        f.machine.update(who, z, 4, order::seq_cst, r.far,
                         [](std::uint64_t v) { return std::optional(v + 1); });
      };
      CHECK(passes(r.one, r.other, {order::release}, update) == !r.is_in);
    }
  }

  TEST_CASE("a store passes fences that are not seq_cst") {
    for (order const o : {order::release, order::acquire, order::acq_rel}) {
      CAPTURE(to_string(o));
      for (auto const other : {&five::b, &five::other_group, &five::other_agent, &five::host})
        CHECK(passes(&five::a, other, {order::release}, [&](five& f, actor_id who) {
          if (o == order::release)
            f.machine.release_later(who, scope::system);
          else
            f.machine.fence(who, o, scope::system);
        }));
    }
  }

  TEST_CASE("nor does another fence behind such a one hold it up, which has nobody in it") {
    struct fence {
      order how;
      scope far;
    };
    auto const perform = [](five& f, actor_id who, fence const& one) {
      if (one.how == order::release)
        f.machine.release_later(who, one.far);
      else
        f.machine.fence(who, one.how, one.far);
    };
    for (fence const& one : {fence{order::acq_rel, scope::system}, {order::release, scope::system}})
      for (fence const& other : {fence{order::acq_rel, scope::agent},
                                 {order::acq_rel, scope::work_group},
                                 {order::release, scope::agent},
                                 {order::seq_cst, scope::work_group},
                                 {order::seq_cst, scope::agent}}) {
        CAPTURE(to_string(other.how));
        CAPTURE(to_string(other.far));
        for (bool const swaps : {false, true})
          CHECK(passes(&five::a, &five::host, {order::release}, [&](five& f, actor_id who) {
            perform(f, who, swaps ? other : one);
            perform(f, who, swaps ? one : other);
          }));
        // But the wider one's release is still to come, and comes with the next write.
        auto const seen = explore_all([&](five& f) -> std::uint64_t {
          static_cast<void>(f.machine.load(f.host, x, 4)); // an old copy to be
          f.machine.store(f.a, x, 4, 1);
          perform(f, f.a, one);
          perform(f, f.a, other);
          f.machine.store(f.a, y, 4, 1, order::relaxed, scope::system);
          if (f.machine.load(f.host, y, 4, order::acquire, scope::system).value == 0)
            return 2;
          return f.machine.load(f.host, x, 4).value;
        });
        CHECK(!seen.contains(0));
        CHECK(seen.contains(1));
      }
  }

  TEST_CASE("what has not passed a fence goes on to where it was stored, and what it releases") {
    for (order const o : {order::seq_cst, order::acq_rel})
      for (scope const near : {scope::work_item, scope::work_group, scope::agent})
        for (auto const other : {&five::b, &five::other_group, &five::other_agent, &five::host}) {
          CAPTURE(to_string(o));
          CAPTURE(to_string(near));
          auto const seen = explore_all([&](five& f) -> std::uint64_t {
            static_cast<void>(f.machine.load(f.*other, x, 4)); // an old copy to be
            f.machine.store(f.a, x, 4, 1);
            f.machine.store(f.a, y, 4, 1, order::release, scope::system);
            f.machine.fence(f.a, o, near);
            if (f.machine.load(f.*other, y, 4, order::acquire, scope::system).value == 0)
              return 2;
            return f.machine.load(f.*other, x, 4).value;
          });
          CHECK(!seen.contains(0));
          CHECK(seen.contains(1));
        }
  }

  TEST_CASE("an acq_rel fence acquires at once, and releases what its actor writes behind it") {
    auto const passed_on = explore_all([](five& f) -> std::uint64_t {
      static_cast<void>(f.machine.load(f.host, x, 4));
      f.machine.store(f.b, x, 4, 1);
      f.machine.store(f.b, y, 4, 1, order::release, scope::agent);
      static_cast<void>(f.machine.load(f.other_group, x, 4)); // an old copy to be
      if (f.machine.load(f.other_group, y, 4, order::relaxed, scope::agent).value == 0)
        return 2;
      f.machine.fence(f.other_group, order::acq_rel, scope::system);
      if (f.machine.load(f.other_group, x, 4).value != 1)
        return 3;
      f.machine.store(f.other_group, z, 4, 1, order::relaxed, scope::system);
      if (f.machine.load(f.host, z, 4, order::acquire, scope::system).value == 0)
        return 4;
      return f.machine.load(f.host, x, 4).value;
    });
    CHECK(passed_on == outcomes{1, 2, 4});
  }
}

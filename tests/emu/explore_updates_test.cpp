// SPDX-License-Identifier: Apache-2.0
// Updates that are seen late: what an exchange orders, and what takes a seq_cst one.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace {

using namespace quarry;
using namespace quarry::emu;

using word = std::uint32_t;

explore_options all_of_them() {
  explore_options o{.executions = 2'000'000, .diagnoses = false, .keeps_failures = false};
  o.strategy = "exhaustive";
  o.reduces = true;
  return o;
}

/// Dekker's way in; at most one of two comes to `inside`.
template<class Thread>
void try_to_enter(Thread& t, global<word> flags, int me, order how, global<word> inside) {
  static_cast<void>(t.exchange(flags + me, 1U, how, scope::system));
  if (t.load(flags + (1 - me), order::acquire, scope::system) == 0)
    static_cast<void>(t.fetch_add(inside, 1U, order::relaxed, scope::system));
}

verdict two_hosts_enter(order how) {
  return explore(all_of_them(), [how](world& w) {
    auto flags = w.allocate<word>(2, "flags");
    auto inside = w.allocate<word>(1, "inside");
    for (int const me : {0, 1})
      w.start(me == 0 ? "first" : "second", [=, f = flags.global(), i = inside.global()](auto& t) {
        try_to_enter(t, f, me, how, i);
      });
    w.join();
    w.check(inside.host()[0] <= 1, "both are inside");
  });
}

struct enter {
  void operator()(any_wavefront auto& wf, global<word> flags, order how,
                  global<word> inside) const {
    auto const me = wf.linear_group_id() + wf.index_in_group();
    try_to_enter(wf, flags, static_cast<int>(me), how, inside);
  }
};

verdict two_wavefronts_enter(order how, bool are_in_one_group) {
  explore_options options = all_of_them();
  options.executions = 20'000;
  options.strategy = "random_walk";
  options.reduces = false;
  return explore(options, [=](world& w) {
    explored_agent gpu(w.scheduler(), {.compute_units = 2, .wavefront_size = 32});
    auto flags = gpu.allocate<word>(2, "flags");
    auto inside = gpu.allocate<word>(1, "inside");
    launch_config const shape{.work_groups = are_in_one_group ? 1U : 2U,
                              .work_items_per_group = are_in_one_group ? 64U : 32U};
    gpu.run(shape, enter{}, flags.global(), how, inside.global()).or_throw();
    w.check(inside.host()[0] <= 1, "both are inside");
  });
}

/// A reader says what it reads; who has taken that out looks whether anybody reads it, then frees
/// it. (Michael, Hazard Pointers, 2004)
verdict hazard_pointer(order how) {
  return explore(all_of_them(), [how](world& w) {
    auto words = w.allocate<word>(3, "words");
    auto const top = words.global(), hazard = words.global() + 1, node = words.global() + 2;
    w.host().store(top, 7U, order::relaxed, scope::system);
    w.host().store(node, 1U, order::relaxed, scope::system);
    w.start("reader", [=, &w](auto& t) {
      word const seen = t.load(top, order::acquire, scope::system);
      static_cast<void>(t.exchange(hazard, seen, how, scope::system));
      if (seen == 7 && t.load(top, order::acquire, scope::system) == seen)
        w.check(t.load(node, order::relaxed, scope::system) == 1, "it has been freed");
    });
    w.start("reclaimer", [=](auto& t) {
      static_cast<void>(t.exchange(top, 8U, how, scope::system));
      if (t.load(hazard, order::acquire, scope::system) != 7)
        t.store(node, 0U, order::relaxed, scope::system);
    });
    w.join();
  });
}

/// Whoever has work sets its bit and rings; who hears the bell takes all bits.
verdict take_at_the_bell(order ring, bool by_exchange, order take) {
  return explore(all_of_them(), [=](world& w) {
    auto words = w.allocate<word>(32, "words");
    auto const bits = words.global(), bell = words.global() + 16;
    w.start("producer", [=](auto& t) {
      static_cast<void>(t.fetch_or(bits, 1U, order::relaxed, scope::system));
      static_cast<void>(t.fetch_add(bell, 1U, ring, scope::system));
    });
    w.start("consumer", [=, &w](auto& t) {
      if (t.load(bell, order::acquire, scope::system) == 0)
        return;
      word work = 1;
      bool const is_there = by_exchange ? t.exchange(bits, 0U, take, scope::system) == work
                                        : t.compare_exchange(bits, work, 0U, take, scope::system);
      w.check(is_there, "the work is lost");
    });
    w.join();
  });
}

void is_found(verdict const& v) {
  REQUIRE_MESSAGE(v.failure, v.to_string());
  CHECK(v.failure->kind == "check");
}

} // namespace

TEST_SUITE("emu.explore_updates") {
  TEST_CASE("who has exchanged may still miss the other's exchange, unless they are seq_cst") {
    is_found(two_hosts_enter(order::acq_rel));
    verdict const v = two_hosts_enter(order::seq_cst);
    CHECK_MESSAGE((v && v.is_complete && v.limited == 0), v.to_string());
  }

  TEST_CASE("wavefronts, too, in one group or in two") {
    for (bool const are_near : {true, false}) {
      is_found(two_wavefronts_enter(order::acq_rel, are_near));
      verdict const v = two_wavefronts_enter(order::seq_cst, are_near);
      CHECK_MESSAGE(v, v.to_string());
    }
  }

  TEST_CASE("a hazard pointer that is set by an exchange of acq_rel guards nothing") {
    is_found(hazard_pointer(order::acq_rel));
    verdict const v = hazard_pointer(order::seq_cst);
    CHECK_MESSAGE((v && v.is_complete && v.limited == 0), v.to_string());
  }

  TEST_CASE("who takes by an update what a relaxed bell tells of may come too early") {
    for (bool const by_exchange : {true, false})
      for (order const take : {order::relaxed, order::acquire}) {
        CAPTURE(by_exchange);
        is_found(take_at_the_bell(order::relaxed, by_exchange, take));
        verdict const v = take_at_the_bell(order::release, by_exchange, take);
        CHECK_MESSAGE((v && v.is_complete && v.limited == 0), v.to_string());
      }
    is_found(take_at_the_bell(order::relaxed, false, order::acq_rel)); // it fails, and is a load
  }
}

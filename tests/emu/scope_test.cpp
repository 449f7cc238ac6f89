// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/scope.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <string>

using namespace quarry::emu;

namespace {

// From the narrowest to the widest.
constexpr scope scopes[] = {scope::work_item, scope::wavefront, scope::work_group, scope::agent,
                            scope::system};

} // namespace

TEST_SUITE("emu.scope") {
  TEST_CASE("each scope includes itself and the narrower ones, and no wider one") {
    for (int wide = 0; wide < 5; ++wide)
      for (int narrow = 0; narrow < 5; ++narrow)
        CHECK(includes(scopes[wide], scopes[narrow]) == (narrow <= wide));
  }

  TEST_CASE("actors of one work-group share a compute unit, those of one agent need not") {
    for (scope const s : scopes)
      CHECK(stays_in_compute_unit(s) == (s != scope::agent && s != scope::system));
  }

  TEST_CASE("reports call scopes and orders by the names that kernels use") {
    std::string all;
    for (scope const s : scopes)
      all += std::string(to_string(s)) + ' ';
    for (int o = 0; o < 5; ++o)
      all += std::string(to_string(static_cast<order>(o))) + ' ';
    CHECK(all == "work_item wavefront work_group agent system "
                 "relaxed acquire release acq_rel seq_cst ");
  }

  TEST_CASE(
      "a load keeps the acquire side of its order, a store the release side, an update both") {
    struct row {
      order how;
      std::memory_order load, store, update;
    };
    using m = std::memory_order;
    constexpr row rows[] = {
        {order::relaxed, m::relaxed, m::relaxed, m::relaxed},
        {order::acquire, m::acquire, m::relaxed, m::acquire},
        {order::release, m::relaxed, m::release, m::release},
        {order::acq_rel, m::acquire, m::release, m::acq_rel},
        {order::seq_cst, m::seq_cst, m::seq_cst, m::seq_cst},
    };
    for (row const& r : rows) {
      CAPTURE(std::string(to_string(r.how)));
      CHECK(load_order(r.how) == r.load);
      CHECK(store_order(r.how) == r.store);
      CHECK(std_order(r.how) == r.update);
    }
  }
}

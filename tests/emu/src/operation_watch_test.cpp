// SPDX-License-Identifier: Apache-2.0
#include "operation_watch.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <source_location>
#include <vector>

using namespace quarry;
using namespace quarry::emu;

namespace {

operation_site at_line(std::source_location where = std::source_location::current()) {
  return {.where = where, .what = operation_kind::load, .how = std::nullopt, .far = scope::agent};
}

} // namespace

TEST_SUITE("emu.operation_watch") {
  TEST_CASE("operations are wanted while somebody collects, or some are adjusted") {
    operation_watch w;
    CHECK(!w.is_wanted());
    std::vector<operation_site> all;
    w.collect(&all);
    CHECK(w.is_wanted());
    w.adjust({strongest(at_line())});
    w.collect(nullptr);
    CHECK(w.is_wanted());
    w.adjust({});
    CHECK(!w.is_wanted());
  }
  TEST_CASE("an operation is collected once, with all who do it") {
    operation_watch w;
    std::vector<operation_site> all;
    w.collect(&all);
    operation_site const one = at_line();
    operation_site const other = at_line();
    operation_site stronger = one;
    stronger.how = order::acquire;
    CHECK(w.see(one, true) == nullptr);
    CHECK(w.see(other, false) == nullptr);
    CHECK(w.see(one, false) == nullptr);
    CHECK(w.see(stronger, true) == nullptr);
    REQUIRE(all == std::vector{one, other, stronger});
    CHECK((all[0].is_hosts && all[0].is_gpus));
    CHECK((!all[1].is_hosts && all[1].is_gpus));
    CHECK((all[2].is_hosts && !all[2].is_gpus));
  }
  TEST_CASE("of a network's operation is known at most that a host does it") {
    operation_watch w;
    std::vector<operation_site> all;
    w.collect(&all);
    operation_site put = at_line();
    put.what = operation_kind::remote;
    CHECK(w.see(put, false) == nullptr);
    REQUIRE(all.size() == 1);
    CHECK((!all[0].is_hosts && !all[0].is_gpus));
  }
  TEST_CASE("what is adjusted is told of that operation, as it is written, and of no other one") {
    operation_watch w;
    operation_site const one = at_line();
    operation_site const other = at_line();
    operation_site another_order = one;
    another_order.how = order::relaxed;
    w.adjust({{one, order::acquire, scope::system}});
    adjustment const* const a = w.see(one, true);
    REQUIRE(a != nullptr);
    CHECK(a->how == order::acquire);
    CHECK(a->far == scope::system);
    CHECK(w.see(other, true) == nullptr);
    CHECK(w.see(another_order, true) == nullptr);
    w.adjust({{other, order::relaxed, scope::agent}});
    CHECK(w.see(one, true) == nullptr);
    CHECK(w.see(other, true) != nullptr);
  }
}

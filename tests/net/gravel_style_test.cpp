// SPDX-License-Identifier: Apache-2.0
#include "style_contract.hpp"
#include "style_places_contract.hpp"

#include <string_view>

using namespace gravel_test;
using gravel::aggregated;
using gravel::not_aggregated;
using gravel::simt_direct;

namespace {

struct without_a_name {
  [[maybe_unused]] static constexpr bool sends_each = true;
};

} // namespace

TEST_SUITE("net.gravel_style") {
  TEST_CASE_TEMPLATE("style: application", S, aggregated, not_aggregated, simt_direct) {
    contract::applies_each_once<S>();
  }
  TEST_CASE_TEMPLATE("style: order", S, aggregated, not_aggregated, simt_direct) {
    contract::keeps_order<S>();
  }
  TEST_CASE_TEMPLATE("style: completion", S, aggregated, not_aggregated, simt_direct) {
    contract::completes<S>();
  }
  TEST_CASE_TEMPLATE("style: counts", S, aggregated, not_aggregated, simt_direct) {
    contract::counts<S>();
  }
  TEST_CASE_TEMPLATE("style: errors", S, aggregated, not_aggregated, simt_direct) {
    contract::ends_in_typed_errors<S>();
  }
  TEST_CASE_TEMPLATE("style: places", S, aggregated, not_aggregated, simt_direct) {
    contract::refuses_what_is_not_there<S>();
  }

  TEST_CASE("a style has a name by which a job asks for it, and no other has it") {
    CHECK(aggregated::name == std::string_view("gravel"));
    CHECK(not_aggregated::name == std::string_view("no_aggregation"));
    CHECK(simt_direct::name == std::string_view("simt_direct"));
    CHECK(gravel_node::options{}.style == aggregated::name);
    CHECK_FALSE(gravel::style<without_a_name>);
    CHECK_FALSE(gravel::style<int>);
  }
}

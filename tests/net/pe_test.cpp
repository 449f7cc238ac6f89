// SPDX-License-Identifier: Apache-2.0
#include <quarry/net/pe.hpp>

#include <doctest/doctest.h>

#include <sstream>
#include <type_traits>
#include <unordered_set>

using quarry::net::pe;

TEST_SUITE("net.pe") {
  TEST_CASE("a pe is ordered and equal by its id, and no number becomes one by accident") {
    CHECK(pe{1} < pe{2});
    CHECK(pe{2} == pe{2});
    CHECK(pe{3} != pe{2});
    CHECK_FALSE(std::is_convertible_v<std::uint32_t, pe>);
  }

  TEST_CASE("a report calls it by its number") {
    std::ostringstream out;
    out << pe{17};
    CHECK(out.str() == "pe 17");
    CHECK(to_string(pe{0}) == "pe 0");
  }

  TEST_CASE("different pes are different keys") {
    std::unordered_set<pe> const some{pe{1}, pe{2}, pe{1}};
    CHECK(some.size() == 2);
  }
}

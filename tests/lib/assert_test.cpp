// SPDX-License-Identifier: Apache-2.0
// Checked here, whatever the build checks.
#undef NDEBUG
#include "in_child.hpp"

#include <quarry/assert.hpp>

#include <doctest/doctest.h>

#include <string>

using quarry_test::in_child;

TEST_SUITE("lib.assert") {
  TEST_CASE("a broken invariant says what and where it is, and aborts") {
    int line = 0;
    int const apples = 3;
    auto const end = in_child([&] { QUARRY_ASSERT(apples == 4); });
    line = __LINE__ - 1;
    CAPTURE(end.said);
    REQUIRE(end.is_aborted());
    CHECK(end.said.find("broken invariant: apples == 4 at ") != std::string::npos);
    CHECK(end.said.find("assert_test.cpp:" + std::to_string(line)) != std::string::npos);
  }

  TEST_CASE("one that holds is looked at once, and says nothing") {
    int looked = 0;
    QUARRY_ASSERT(++looked == 1);
    CHECK(looked == 1);
    auto const end = in_child([] { QUARRY_ASSERT(1 + 1 == 2); });
    CHECK(WIFEXITED(end.status));
    CHECK(end.said == "");
  }
}

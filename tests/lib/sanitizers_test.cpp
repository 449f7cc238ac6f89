// SPDX-License-Identifier: Apache-2.0
#include <quarry/sanitizers.hpp>

#include <doctest/doctest.h>

#include <string_view>

TEST_SUITE("lib.sanitizers") {
  TEST_CASE("the code knows what it is built with") {
    constexpr std::string_view built_with = B_SANITIZE;
    CHECK(bool{QUARRY_ASAN} == (built_with.find("address") != built_with.npos));
    CHECK(bool{QUARRY_TSAN} == (built_with.find("thread") != built_with.npos));
  }
}

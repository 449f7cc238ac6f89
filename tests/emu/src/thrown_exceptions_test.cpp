// SPDX-License-Identifier: Apache-2.0
#include "thrown_exceptions.hpp"

#include <doctest/doctest.h>

#include <exception>
#include <stdexcept>

using namespace quarry::emu;

TEST_SUITE("emu.thrown_exceptions") {
  TEST_CASE("the oldest that nobody has heard of is told, with who threw it") {
    auto const first = std::make_exception_ptr(std::runtime_error("first"));
    auto const second = std::make_exception_ptr(std::runtime_error("second"));
    thrown_exceptions all;
    CHECK(all.first_unheard(true) == nullptr);
    all.add({.what = first, .who = "a child", .is_child = true});
    all.add({.what = second, .who = "an actor"});
    REQUIRE(all.first_unheard(true) != nullptr);
    CHECK(all.first_unheard(true)->who == "a child");
    CHECK(all.first_unheard(false)->who == "an actor");
    all.hear(first);
    CHECK(all.first_unheard(true)->who == "an actor");
    all.hear(second);
    CHECK(all.first_unheard(true) == nullptr);
    // Who has thrown it is known all the same, until the end.
    REQUIRE(all.find(first) != nullptr);
    CHECK(all.find(first)->who == "a child");
    CHECK(all.find(std::make_exception_ptr(std::runtime_error("first"))) == nullptr);
    all.clear();
    CHECK(all.find(first) == nullptr);
  }
}

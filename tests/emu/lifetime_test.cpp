// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/lifetime.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <utility>

using quarry::emu::lifetime;

TEST_SUITE("emu.lifetime") {
  TEST_CASE("who asks is told whether the owner lives, also once another has its place") {
    std::optional<lifetime> owner(std::in_place);
    auto const one = owner->observed(), two = one;
    CHECK_FALSE(one.expired());
    CHECK_FALSE(two.expired());
    owner.reset();
    CHECK(one.expired());
    owner.emplace();
    CHECK(one.expired());
    CHECK(two.expired());
    CHECK_FALSE(owner->observed().expired());
  }
  TEST_CASE("of nobody, it has expired; so has one that was moved from") {
    CHECK(lifetime::observer().expired());
    lifetime const owner;
    auto one = owner.observed();
    auto two = std::move(one);
    CHECK(one.expired()); // NOLINT(bugprone-use-after-move)
    CHECK_FALSE(two.expired());
    one = std::move(two);
    CHECK(two.expired()); // NOLINT(bugprone-use-after-move)
    CHECK_FALSE(one.expired());
  }
}

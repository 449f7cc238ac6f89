// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/explore.hpp>
#include <quarry/emu/operations.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <string>

namespace quarry_test {

using quarry::task;
using quarry::world;
using quarry::world_core;
using quarry::emu::order;
using quarry::emu::scope;

using case_world = std::function<void(world&)>;

/// The wrong twin of a published bug: the explorer must find it, and the same again.
inline void check_wrong(char const* name, case_world const& wrong) {
  CAPTURE(name);
  auto const v = quarry::explore({.executions = 2'000, .name = name}, wrong);
  REQUIRE_MESSAGE(v.failure, v.to_string());
  CHECK_MESSAGE(v.failure->is_repeatable, v.to_string());
}

/// The same by what it does, not by what orders it: a wrong value or a hang.
inline void check_wrong_by_value(char const* name, case_world const& wrong) {
  check_wrong(name, wrong);
  auto const v =
      quarry::explore({.executions = 5'000, .detects_races = false, .name = name}, wrong);
  CHECK_MESSAGE(v.failure, v.to_string());
}

/// The right twin: it must never be flagged.
inline void check_right(char const* name, case_world const& right) {
  auto const v = quarry::explore({.executions = 10'000, .name = name}, right);
  CHECK_MESSAGE(v, v.to_string());
  CHECK(v.inconclusive == 0);
}

/// Waits until a word is not 0; gives it.
inline auto nonzero(world_core& self, quarry::emu::global<std::uint64_t> at, order o,
                    scope s = scope::system) {
  return self.wait_until(at, [](std::uint64_t v) { return v != 0; }, o, s);
}

} // namespace quarry_test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>

namespace quarry_test {

/// A right world: so many executions come to its end, and nothing is found.
inline void passes(std::uint64_t executions, std::function<void(quarry::world&)> const& f) {
  quarry::verdict const v = quarry::explore({.executions = executions}, f);
  CHECK_MESSAGE(v, v.to_string());
}

} // namespace quarry_test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explore/explored_memory.hpp"

#include <quarry/emu/fault.hpp>
#include <quarry/scheduler.hpp>

#include <optional>
#include <utility>

namespace quarry::emu {

/// Of a host that has waited, in vain if there is a fault. It may not look at what it gets: under
/// `explore` that is a failure all the same.
[[nodiscard]] inline outcome end_of_wait(executor const& s, std::optional<fault> stuck) {
  if (auto* const memory = explored_memory::of(s); stuck && memory != nullptr)
    memory->found(*stuck);
  return outcome(std::move(stuck));
}

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explore/explored_memory.hpp"

#include <quarry/emu/fault.hpp>
#include <quarry/scheduler.hpp>

#include <optional>
#include <utility>

namespace quarry::emu {

/// Under `explore` it is a failure though nobody looks at it.
inline void found_where_explored(executor const& s, fault const& f) {
  if (auto* const memory = explored_memory::of(s))
    memory->found(f);
}

/// Of a host that has waited, in vain if there is a fault.
[[nodiscard]] inline outcome end_of_wait(executor const& s, std::optional<fault> stuck) {
  if (stuck)
    found_where_explored(s, *stuck);
  return outcome(std::move(stuck));
}

} // namespace quarry::emu

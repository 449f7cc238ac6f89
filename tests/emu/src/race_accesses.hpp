// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "race_detector.hpp"

#include <cstdint>

namespace quarry::emu {

/// Accesses to tell a race detector of; -1: by the actor as a whole.
[[nodiscard]] inline race_detector::access plain(race_detector::actor_id actor, std::uintptr_t at,
                                                 unsigned bytes, std::int16_t lane = -1) {
  return {.actor = actor, .address = at, .bytes = bytes, .at = {{}, lane}};
}

[[nodiscard]] inline race_detector::access atomic(race_detector::actor_id actor, std::uintptr_t at,
                                                  unsigned bytes, order o, scope s,
                                                  std::int16_t lane = -1) {
  race_detector::access a = plain(actor, at, bytes, lane);
  a.order = o;
  a.scope = s;
  return a;
}

} // namespace quarry::emu

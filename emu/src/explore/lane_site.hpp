// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "race_detector.hpp"

#include <quarry/emu/cache_port.hpp>

#include <fmt/core.h>

#include <cstdint>
#include <source_location>
#include <string>

namespace quarry::emu {

/// Where a lane does something; -1: the actor as a whole.
[[nodiscard]] inline race_detector::site lane_site(std::source_location where, int lane) noexcept {
  return {where, static_cast<std::int16_t>(lane)};
}

/// What the race detector is told of an access.
[[nodiscard]] inline race_detector::access access_of(cache_port::word_access const& w,
                                                     cache_port::actor_id who, int lane) noexcept {
  return {.actor = who,
          .order = w.order,
          .scope = w.scope,
          .address = w.address(),
          .bytes = w.bytes,
          .at = lane_site(w.where, lane)};
}

/// " lane 3", behind the name of an actor in reports; nothing of an actor as a whole.
[[nodiscard]] inline std::string lane_text(race_detector::site const& at) {
  return at.lane >= 0                              ? fmt::format(" lane {}", at.lane)
         : at.lane == race_detector::several_lanes ? " several lanes"
                                                   : "";
}

} // namespace quarry::emu

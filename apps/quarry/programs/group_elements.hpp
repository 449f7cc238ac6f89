// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/lanes.hpp>
#include <quarry/emu/wavefront.hpp>

#include <cstdint>

namespace quarry::command {

/// Shares elements 0 … count - 1 among the work-items of a group, those of one wavefront side by
/// side: calls `f(first)` where the wavefront's lanes have the elements first + wf.local_id(), with
/// the lanes that have none masked.
template<class W, class F>
void for_group_elements(W& wf, std::uint32_t count, F f) {
  auto const size = static_cast<std::uint32_t>(wf.group_size().volume());
  for (std::uint32_t first = 0; first < count; first += size)
    if (auto inside = wf.where(wf.local_id() < static_cast<std::int32_t>(count - first)))
      f(first);
}

} // namespace quarry::command

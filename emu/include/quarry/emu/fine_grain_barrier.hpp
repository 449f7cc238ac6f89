// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/work_group.hpp>
#include <quarry/task.hpp>

#include <coroutine>
#include <cstdint>
#include <source_location>

namespace quarry::emu {

/// A barrier over any subset of a group's work-items: an HSA fbarrier that, as thesis §5.3.3 asks,
/// tells work-items of one wavefront apart. All work-items of the group are members at first.
///
/// A wavefront with at least one member is waited for; one with none must not come to it, which is
/// a fault (misuse). Copies name the same barrier; it lives as long as the group. Made by
/// wavefront::make_fine_grain_barrier(), in the same order by each wavefront.
class fine_grain_barrier {
public:
  fine_grain_barrier(work_group& g, std::uint32_t number) noexcept : group_(&g), number_(number) {}

  /// The lanes become members. A barrier that nobody has reached yet waits for them as well.
  void join(wave_slot const& w, lane_mask who) const {
    lane_mask& m = state().members[w.index];
    m = m | (who & w.items);
  }
  /// The lanes are members no longer; may complete the barrier for those that wait at it.
  void leave(wave_slot const& w, lane_mask who) const {
    lane_mask& m = state().members[w.index];
    m = m.without(who);
    group_->recheck(state());
  }

  [[nodiscard]] fine_grain_barrier_state& state() const {
    return group_->fine_grain_barrier(number_);
  }

private:
  work_group* group_;
  std::uint32_t number_;
};

} // namespace quarry::emu

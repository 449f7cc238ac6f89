// SPDX-License-Identifier: Apache-2.0
// A compute unit's part in wavefront yield: who has no slot, and who gets one back.
#include <quarry/emu/agent_core.hpp>
#include <quarry/emu/compute_unit.hpp>
#include <quarry/emu/wavefront_yield.hpp>

#include <algorithm>
#include <utility>

namespace quarry::emu {

actor* wave_slot::on_ready() noexcept {
  bool const has_slot = (group->yielded & (work_group::wave_bits{1} << index)) == 0;
  return has_slot ? this : static_cast<compute_unit*>(home)->come_back(*this);
}

std::uint32_t compute_unit::begin_yield(wave_slot& w) {
  std::lock_guard const lock(yield_mutex_);
  w.yields = yield_state::asked;
  return ++w.yield_ticket;
}

bool compute_unit::has(std::uint64_t wave) const noexcept {
  return std::any_of(pool_.begin(), pool_.end(), [wave](auto const& group) {
    return std::any_of(group->waves.begin(), group->waves.end(), [wave](wave_slot const& w) {
      return reinterpret_cast<std::uint64_t>(&w) == wave;
    });
  });
}

bool compute_unit::give_up_slot(wave_slot& w, std::source_location where, void const* on) {
  {
    // restart() comes wholly before this, or finds a wavefront that waits.
    std::lock_guard const lock(yield_mutex_);
    if (w.yields == yield_state::restarted) {
      w.yields = yield_state::none;
      return false;
    }
    w.wait_for("wavefront yield", where, on);
    w.yields = yield_state::parked;
  }
  w.group->yielded |= work_group::wave_bits{1} << w.index;
  ++free_slots_;
  if (decides_) // drain() looks by itself
    agent_.place_everywhere();
  return true;
}

void compute_unit::restart(wave_slot& w, std::uint32_t ticket) {
  std::unique_lock lock(yield_mutex_);
  if (w.yield_ticket != ticket || w.yields == yield_state::none)
    return;
  if (std::exchange(w.yields, yield_state::restarted) != yield_state::parked)
    return; // give_up_slot() will see it
  // Under the lock where others run: evict() voids the ticket, and then looks into the inbox.
  if (decides_)
    lock.unlock();
  make_ready(w);
}

actor* compute_unit::come_back(wave_slot& w) noexcept {
  if (free_slots_ == 0) { // place_one() will find it
    returning_.push_back(&w);
    return nullptr;
  }
  enter_again(w);
  return &w;
}

void compute_unit::enter_again(wave_slot& w) {
  {
    std::lock_guard const lock(yield_mutex_);
    w.yields = yield_state::none;
  }
  work_group& g = *w.group;
  g.yielded &= ~(work_group::wave_bits{1} << w.index);
  --free_slots_;
  if (std::exchange(g.is_parked, false)) {
    parked_.erase(std::find(parked_.begin(), parked_.end(), &g));
    resident_.push_back(&g);
  }
}

/// All wavefronts of a resident group that have not ended have yielded: nobody looks at it.
void compute_unit::park(std::size_t position) {
  work_group& g = *resident_[position];
  g.is_parked = true;
  resident_.erase(resident_.begin() + static_cast<std::ptrdiff_t>(position));
  parked_.push_back(&g);
}

void compute_unit::evict_failed_parked() {
  auto const has_failed = [](work_group const* g) { return g->launch->has_failed(); };
  for (;;) {
    auto const g = std::find_if(parked_.begin(), parked_.end(), has_failed);
    if (g == parked_.end())
      return;
    evict(*(*g)->launch);
  }
}

void compute_unit::void_tickets(launch_state const& l) {
  std::lock_guard const lock(yield_mutex_);
  for (auto const* const groups : {&resident_, &parked_})
    for (work_group* const g : *groups)
      if (g->launch == &l)
        for (std::uint32_t i = 0; i < g->wave_count; ++i) {
          g->waves[i].yields = yield_state::none;
          ++g->waves[i].yield_ticket;
        }
}

} // namespace quarry::emu

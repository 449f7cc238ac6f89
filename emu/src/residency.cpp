// SPDX-License-Identifier: Apache-2.0
// Which work-groups are resident on a compute unit: how they come and how they go.
#include <quarry/emu/agent_core.hpp>
#include <quarry/emu/compute_unit.hpp>
#include <quarry/emu/debug_agents.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace quarry::emu {
namespace {

constexpr std::uint32_t lds_padding = 256; // a whole-wavefront read may run past the last element

/// Moves those of the launch.
void take_groups(std::vector<work_group*>& from, launch_state const& l,
                 std::vector<work_group*>& into) {
  std::erase_if(from, [&](work_group* g) {
    if (g->launch == &l)
      into.push_back(g);
    return g->launch == &l;
  });
}

/// For reports, in which two agents' groups of one number must not have one name.
std::string lds_name(std::uint64_t group, std::uint32_t agent) {
  return agent == 1 ? fmt::format("LDS of group {}", group)
                    : fmt::format("LDS of group {} of agent {}", group, agent);
}

} // namespace

bool compute_unit::has_room(launch_state const& l) const noexcept {
  return l.waves_per_group <= free_slots_ && l.config.lds_bytes <= free_lds_;
}

/// May the launch's groups all wait for each other? Those of plain kernels wait for nobody.
bool compute_unit::may_all_meet(launch_state const& l) noexcept {
  return l.fits_at_once && l.entry.run_group == nullptr;
}

/// How many groups can be claimed: where they need not all be resident they may come one after the
/// other, from memory that lies together.
std::uint64_t compute_unit::room_for(launch_state const& l) const noexcept {
  if (!may_all_meet(l))
    return l.group_count;
  std::uint32_t const by_slots = free_slots_ / l.waves_per_group;
  std::uint32_t const bytes = l.config.lds_bytes;
  return bytes == 0 ? by_slots : std::min(by_slots, free_lds_ / bytes);
}

compute_unit::placed compute_unit::place_from(launch_state& l) {
  if (!has_room(l))
    return placed::no_room;
  if (claimed_.range.is_empty()) {
    claimed_ = {&l, l.claim(agent_.compute_unit_count(), decides_ ? 1 : room_for(l)), {}};
    if (claimed_.range.is_empty())
      return placed::nothing_left;
    claimed_.id = l.group_id(l.claimed_group(claimed_.range.first));
  }
  work_group& g = idle_group();
  resident_.push_back(&g);
  free_slots_ -= l.waves_per_group;
  free_lds_ -= l.config.lds_bytes;
  enter(g, l);
  return placed::yes;
}

work_group& compute_unit::idle_group() {
  if (idle_.empty()) {
    work_group& g = *pool_.emplace_back(std::make_unique<work_group>());
    for (std::uint32_t i = 0; i < g.waves.size(); ++i) {
      g.waves[i].group = &g;
      g.waves[i].index = i;
      g.waves[i].home = this;
    }
    g.decides = decides_;
    debug_.groups.push_back(g.debug);
    return g;
  }
  work_group& g = *idle_.back();
  idle_.pop_back();
  return g;
}

compute_unit::placed compute_unit::place_one() {
  if (!claimed_.range.is_empty() && claimed_.launch->has_failed())
    give_claims_back();
  // What is claimed to be resident at once has its room already.
  bool const is_reserved = !claimed_.range.is_empty() && may_all_meet(*claimed_.launch);
  if (!returning_.empty() && free_slots_ != 0 && !is_reserved) {
    wave_slot& w = *returning_.front();
    returning_.pop_front();
    enter_again(w);
    if (decides_)
      make_ready(w);
    else
      w.group->ready |= work_group::wave_bits{1} << w.index;
    return placed::yes;
  }
  return claimed_.range.is_empty() ? agent_.for_each_launch(*this) : place_from(*claimed_.launch);
}

void compute_unit::give_claims_back() {
  if (claimed_.range.is_empty())
    return;
  claimed_.launch->give_back(std::exchange(claimed_.range, {}));
  agent_.wake_units(); // an idle unit may have room
}

/// The first of the claimed groups.
void compute_unit::enter(work_group& g, launch_state& l) {
  g.launch = &l;
  g.linear_id = l.claimed_group(claimed_.range.first++);
  g.id = claimed_.id;
  g.first_item = l.is_linear() ? std::int64_t{g.id.x} * l.config.work_items_per_group.x : -1;
  claimed_.id = l.following(claimed_.id);
  if (extent const size = l.group_size(g.id); size != g.size)
    reshape(g, size);
  g.ready = g.polling = g.finished = g.yielded = g.arrived = g.diverged = g.bank = 0;
  g.fine_grain_barriers.clear();
  if (l.config.lds_bytes != 0) {
    if (g.lds_capacity < l.config.lds_bytes + lds_padding)
      g.reserve_lds(l.config.lds_bytes + lds_padding);
    if (decides_) // who reads what nobody has written reads the same in every execution
      std::memset(g.lds, uninitialised_byte, g.lds_capacity);
    if (l.bounds != nullptr)
      agent_.known().add_lds(g.lds, l.config.lds_bytes,
                             lds_name(g.linear_id, rank_of(agent_.debug_entry())), l.config.where);
  }
  if (!decides_) {
    // They start as late as can be: one that never waits leaves its frame, still in the cache, to
    // the next one.
    g.ready = g.fresh = g.all;
    for (std::uint32_t i = 0; i < g.wave_count; ++i)
      g.waves[i].state = actor_state::ready; // for reports
    return;
  }
  for (std::uint32_t i = 0; i < g.wave_count; ++i) {
    g.waves[i].state = actor_state::ready;
    g.waves[i].reason.where = {}; // it has waited nowhere yet
    start_now(g.waves[i]);
  }
  g.wake(g.all);
}

void compute_unit::reshape(work_group& g, extent size) {
  g.size = size;
  auto items = static_cast<std::uint32_t>(size.volume());
  g.wave_count = (items + wavefront_size_ - 1) / wavefront_size_;
  g.all = g.wave_count == 32 ? ~0U : (1U << g.wave_count) - 1;
  for (std::uint32_t i = 0; i < g.wave_count; ++i) {
    auto const count = std::min(items, wavefront_size_);
    items -= count;
    g.waves[i].items = lane_mask::first_n(static_cast<int>(count));
  }
}

void compute_unit::leave(std::size_t position) {
  work_group& g = *resident_[position];
  launch_state& l = *g.launch;
  resident_.erase(resident_.begin() + static_cast<std::ptrdiff_t>(position));
  idle_.push_back(&g);
  free_slots_ += l.waves_per_group;
  free_lds_ += l.config.lds_bytes;
  if (l.config.lds_bytes != 0 && l.bounds != nullptr)
    agent_.known().remove(g.lds);
  count_ended(l);
}

void compute_unit::count_ended(launch_state& l) {
  if (ended_.launch != &l)
    report_ended();
  ended_.launch = &l;
  ++ended_.count;
}

/// The launch may be gone afterwards.
void compute_unit::report_ended() {
  if (ended_.count != 0)
    ended_.launch->finish(std::exchange(ended_.count, 0));
}

/// Gives up a group that is not resident any more, and whose wavefronts have been let go of.
void compute_unit::drop(work_group& g) {
  launch_state const& l = *g.launch;
  for (std::uint32_t k = 0; k < g.wave_count; ++k) {
    wave_slot& w = g.waves[k];
    if (sequential_scheduler::is_left(w)) {
      sequential_scheduler::keep(w, std::exchange(w.root, task<>()));
      w.lanes = nullptr; // they stand in a frame
    }
    w.root = {};
    w.error = nullptr;
  }
  g.finished = g.all; // to a debugger it is not resident any more
  g.is_parked = false;
  free_slots_ += l.waves_per_group - static_cast<std::uint32_t>(std::popcount(g.yielded));
  g.yielded = 0;
  free_lds_ += l.config.lds_bytes;
  if (l.config.lds_bytes != 0 && l.bounds != nullptr)
    agent_.known().remove(g.lds);
}

void compute_unit::evict(launch_state& l) {
  give_claims_back();
  void_tickets(l);
  take_woken(); // while those who go can still be asked
  std::erase_if(returning_, [&](wave_slot const* w) { return w->group->launch == &l; });
  std::vector<work_group*> gone;
  take_groups(resident_, l, gone);
  take_groups(parked_, l, gone);
  letting_go const now(*this);
  // All are told before the first one goes: what one does on its way out may wake another.
  for (work_group* const g : gone)
    for (std::uint32_t k = 0; k < g->wave_count; ++k)
      agent_.let_go(g->waves[k]);
  for (work_group* const g : gone)
    drop(*g);
  // Wakers that were at it have been waited for: neither a slot nor a lane that is used again must
  // find the last one's wake-up in the inbox.
  take_woken();
  idle_.insert(idle_.end(), gone.begin(), gone.end());
  report_ended();
  if (!gone.empty())
    l.finish(gone.size());
}

} // namespace quarry::emu

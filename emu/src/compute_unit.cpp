// SPDX-License-Identifier: Apache-2.0
#include <quarry/assert.hpp>
#include <quarry/emu/agent_core.hpp>
#include <quarry/emu/compute_unit.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace quarry::emu {
namespace {

constexpr int groups_per_turn =
    64; // then other strands get theirs: aggregators, network interfaces
constexpr std::uint32_t lds_padding = 256; // a whole-wavefront read may run past the last element

fault fault_of(work_group const& g, wave_slot const& w) {
  launch_state const& l = *g.launch;
  auto const text = [&](std::string_view what, std::string_view where) {
    std::string const item =
        w.failed_lane < 0
            ? ""
            : fmt::format(", work-item {} of the group",
                          w.index * l.wavefront_size + static_cast<std::uint32_t>(w.failed_lane));
    return fmt::format("{}\n  wavefront {} of {}{}{}\n{}", what, w.index, g.name(), item, where,
                       l.describe());
  };
  try {
    std::rethrow_exception(w.error);
  } catch (kernel_stop const& stop) {
    return {stop.what, l.kernel,
            text(fmt::format("{}: {}", to_string(stop.what), stop.message),
                 ", " + quarry::to_string(stop.where))};
  } catch (std::exception const& e) {
    return {fault::kind::exception, l.kernel,
            text(fmt::format("the kernel threw: {}", e.what()), "")};
  } catch (...) {
    return {fault::kind::exception, l.kernel,
            text("the kernel threw something that is no std::exception", "")};
  }
}

task<> throw_at_once(std::exception_ptr error) {
  std::rethrow_exception(std::move(error));
  co_return;
}

} // namespace

compute_unit::compute_unit(agent_core& agent, executor& executor, machine const& m,
                           std::uint32_t number)
    : strand(executor, fmt::format("compute unit {}", number)), agent_(agent), machine_(m),
      free_slots_(m.wavefront_slots), free_lds_(m.lds_bytes) {}

compute_unit::~compute_unit() {
  retire(); // before anything that drain() and describe() look at goes away
}

std::uint32_t compute_unit::waves_per_group(launch_state const& l) const noexcept {
  auto const items = static_cast<std::uint32_t>(l.config.work_items_per_group.volume());
  return (items + l.wavefront_size - 1) / l.wavefront_size;
}

bool compute_unit::has_room(launch_state const& l) const noexcept {
  return waves_per_group(l) <= free_slots_ && l.config.lds_bytes <= free_lds_;
}

compute_unit::placed compute_unit::place_from(launch_state& l) {
  if (!has_room(l))
    return placed::no_room;
  if (claimed_.range.is_empty()) {
    claimed_ = {&l, l.claim(agent_.compute_unit_count())};
    if (claimed_.range.is_empty())
      return placed::nothing_left;
  }
  std::uint64_t const linear_id = claimed_.range.first++;
  if (idle_.empty())
    idle_.push_back(pool_.emplace_back(std::make_unique<work_group>()).get());
  work_group& g = *idle_.back();
  idle_.pop_back();
  resident_.push_back(&g);
  free_slots_ -= waves_per_group(l);
  free_lds_ -= l.config.lds_bytes;
  enter(g, l, linear_id);
  return placed::yes;
}

compute_unit::placed compute_unit::place_one() {
  if (!claimed_.range.is_empty()) {
    if (!claimed_.launch->has_failed())
      return place_from(*claimed_.launch);
    give_claims_back();
  }
  return agent_.for_each_launch(*this);
}

void compute_unit::give_claims_back() {
  if (claimed_.range.is_empty())
    return;
  claimed_.launch->give_back(std::exchange(claimed_.range, {}));
  agent_.wake_units(); // an idle unit may have room
}

void compute_unit::enter(work_group& g, launch_state& l, std::uint64_t linear_id) {
  g.launch = &l;
  g.linear_id = linear_id;
  g.id = l.group_id(linear_id);
  g.size = l.group_size(g.id);
  g.wave_count =
      (static_cast<std::uint32_t>(g.size.volume()) + l.wavefront_size - 1) / l.wavefront_size;
  g.decides = owner().decides();
  g.all = g.wave_count == 32 ? ~0U : (1U << g.wave_count) - 1;
  g.ready = g.polling = g.finished = g.arrived = g.diverged = g.bank = 0;
  g.fine_grain_barriers.clear();
  if (l.config.lds_bytes != 0) {
    if (g.lds_capacity < l.config.lds_bytes + lds_padding)
      g.reserve_lds(l.config.lds_bytes + lds_padding);
    if (l.bounds != nullptr)
      agent_.known().add(g.lds, l.config.lds_bytes, fmt::format("LDS of group {}", linear_id));
  }
  enter_waves(g);
}

void compute_unit::enter_waves(work_group& g) {
  launch_state const& l = *g.launch;
  auto items = static_cast<std::uint32_t>(g.size.volume());
  for (std::uint32_t i = 0; i < g.wave_count; ++i) {
    wave_slot& w = g.waves[i];
    auto const count = std::min(items, l.wavefront_size);
    items -= count;
    w.group = &g;
    w.index = i;
    w.items = lane_mask::first_n(static_cast<int>(count));
    w.home = this;
    w.lds_used = 0;
    w.fine_grain_barriers_used = 0;
    w.is_abandoned = false;
    w.state = actor_state::ready;
    w.failed_lane = -1;
    try {
      w.root = l.start(l.bound, w);
    } catch (...) { // copying an argument, say: the wavefront ends with it when it runs
      w.root = throw_at_once(std::current_exception());
    }
    w.root.start_on(w);
  }
  g.wake(g.all);
}

void compute_unit::end_wave(work_group& g, wave_slot& w) {
  w.root = {};
  g.finished |= work_group::wave_bits{1} << w.index;
  if (w.error) [[unlikely]] {
    g.launch->fail(fault_of(g, w));
    w.error = nullptr;
    agent_.wake_units(); // they evict their groups of this launch
  }
}

void compute_unit::after_slice(work_group& g, wave_slot& w) {
  if (w.state == actor_state::done)
    end_wave(g, w);
  else if (w.state == actor_state::polling)
    g.polling |= work_group::wave_bits{1} << w.index;
  else if (w.state == actor_state::ready) { // it gives way: to everybody, as a poll that says yes
    w.poll = [](void*) { return true; };
    g.polling |= work_group::wave_bits{1} << w.index;
  }
}

void compute_unit::run_ready(work_group& g) {
  while (g.ready != 0) {
    auto const i = static_cast<unsigned>(std::countr_zero(g.ready));
    g.ready &= g.ready - 1;
    wave_slot& w = g.waves[i];
    w.resume();
    after_slice(g, w);
  }
}

bool compute_unit::ask_the_polling() {
  bool any = false;
  for (work_group* g : resident_)
    for (work_group::wave_bits rest = g->polling; rest != 0; rest &= rest - 1) {
      wave_slot& w = g->waves[static_cast<unsigned>(std::countr_zero(rest))];
      if (!w.poll(w.poll_argument))
        continue;
      g->polling &= ~(rest & -rest);
      g->ready |= rest & -rest;
      any = true;
    }
  return any;
}

void compute_unit::take_woken() {
  for (actor* a = take_inbox(); a != nullptr;) {
    actor* const next = std::exchange(a->next, nullptr);
    if (actor* const w = a->on_ready(); w != nullptr) {
      auto& wave = static_cast<wave_slot&>(*w);
      wave.group->ready |= work_group::wave_bits{1} << wave.index;
    }
    a = next;
  }
}

void compute_unit::leave(std::size_t position) {
  work_group& g = *resident_[position];
  launch_state& l = *g.launch;
  resident_.erase(resident_.begin() + static_cast<std::ptrdiff_t>(position));
  idle_.push_back(&g);
  free_slots_ += waves_per_group(l);
  free_lds_ += l.config.lds_bytes;
  if (l.config.lds_bytes != 0 && l.bounds != nullptr)
    agent_.known().remove(g.lds);
  l.finish(1); // the launch may be gone from here on
}

/// Gives every resident group with something ready its turn. True if anything ran or ended.
bool compute_unit::run_resident() {
  bool progressed = false;
  for (std::size_t i = 0; i < resident_.size();) {
    work_group& g = *resident_[i];
    if (g.launch->has_failed()) [[unlikely]] {
      evict(*g.launch);
      return true;
    }
    if (g.ready != 0) {
      progressed = true;
      run_ready(g);
    }
    if (g.finished == g.all) {
      leave(i);
      continue;
    }
    if (g.ready == 0 && g.polling == 0)
      if (auto f = g.settle()) {
        g.launch->fail(std::move(*f));
        agent_.wake_units();
        continue;
      }
    if (g.ready == 0)
      ++i;
  }
  return progressed;
}

strand::turn compute_unit::drain() {
  // Groups that keep each other busy must not keep out the one that they wait for.
  bool progressed = !resident_.empty() && place_one() == placed::yes;
  for (int n = 0; n < groups_per_turn; ++n) {
    if (has_inbox())
      take_woken();
    if (run_resident() || ask_the_polling()) {
      progressed = true;
      continue;
    }
    if (place_one() == placed::yes) {
      progressed = true;
      continue;
    }
    give_claims_back(); // somebody else may have room
    bool const polls = std::any_of(resident_.begin(), resident_.end(),
                                   [](work_group const* g) { return g->polling != 0; });
    // With groups left that nobody could place, somebody must look again when a group has ended.
    bool const again = polls || (!resident_.empty() && agent_.has_unclaimed());
    return {progressed, again || !try_to_idle()};
  }
  return {progressed, true};
}

void compute_unit::place_groups() {
  while (place_one() == placed::yes) {
  }
  give_claims_back();
}

void compute_unit::wave_done(wave_slot& w) noexcept {
  work_group& g = *w.group;
  end_wave(g, w);
  if (g.launch->has_failed())
    agent_.evict_everywhere(*g.launch);
  else if (g.finished == g.all)
    leave(static_cast<std::size_t>(std::find(resident_.begin(), resident_.end(), &g) -
                                   resident_.begin()));
  else
    g.complete_if_all_wait();
  agent_.place_everywhere();
}

bool compute_unit::settle_groups() {
  for (work_group* g : resident_) {
    auto const waiting = g->diverged;
    if (auto f = g->settle()) {
      launch_state& l = *g->launch;
      l.fail(std::move(*f));
      agent_.evict_everywhere(l);
      return true;
    }
    if (g->diverged != waiting)
      return true;
  }
  return false;
}

void compute_unit::evict(launch_state& l) {
  give_claims_back();
  take_woken(); // a slot that is used again must not find the last one's wake-up in the inbox
  std::uint64_t ended = 0;
  for (std::size_t i = resident_.size(); i-- != 0;) {
    work_group& g = *resident_[i];
    if (g.launch != &l)
      continue;
    for (std::uint32_t k = 0; k < g.wave_count; ++k) {
      agent_.let_go(g.waves[k]);
      g.waves[k].root = {};
      g.waves[k].error = nullptr;
    }
    resident_.erase(resident_.begin() + static_cast<std::ptrdiff_t>(i));
    idle_.push_back(&g);
    free_slots_ += waves_per_group(l);
    free_lds_ += l.config.lds_bytes;
    if (l.config.lds_bytes != 0 && l.bounds != nullptr)
      agent_.known().remove(g.lds);
    ++ended;
  }
  if (ended != 0)
    l.finish(ended);
}

std::unique_ptr<lane_slot[]> compute_unit::take_lanes() {
  if (idle_lanes_.empty())
    return std::make_unique<lane_slot[]>(lane_mask::capacity);
  auto lanes = std::move(idle_lanes_.back());
  idle_lanes_.pop_back();
  return lanes;
}

void compute_unit::give_lanes(std::unique_ptr<lane_slot[]> lanes) {
  idle_lanes_.push_back(std::move(lanes));
}

void compute_unit::describe(report& into) const {
  for (work_group const* g : resident_)
    for (std::uint32_t i = 0; i < g->wave_count; ++i)
      if ((g->finished & (work_group::wave_bits{1} << i)) == 0)
        into.add(name(), g->waves[i], g->launch->kernel);
}

} // namespace quarry::emu

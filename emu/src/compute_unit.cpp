// SPDX-License-Identifier: Apache-2.0

#include "explore/explored_memory.hpp"

#include <quarry/assert.hpp>
#include <quarry/emu/agent_core.hpp>
#include <quarry/emu/compute_unit.hpp>
#include <quarry/what_was_thrown.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <typeinfo>
#include <utility>

namespace quarry::emu {
namespace {

// In slices of wavefronts; then other strands get theirs: aggregators, network interfaces.
constexpr int turn_length = 1024;
// For a group to come to its end within the turn: else it would hold, say, a slot of a queue until
// its next one, and all others wait for that.
constexpr int last_group_length = 1024;
constexpr int placing_cost = 4;          // of a group: about as long as so many empty slices
constexpr int plain_waves_per_slice = 4; // and of a plain kernel's wavefronts, placing included
// Resident groups share the cache: another one joins those that go on and on only after a while.
constexpr int turns_before_another = 64;

/// Who has done wrong, and where if that is known: lines of the launch's fault.
std::string culprit(work_group const& g, wave_slot const& w, int lane,
                    std::optional<std::source_location> where) {
  launch_state const& l = *g.launch;
  if (w.port != nullptr)
    if (explored_memory const* const memory = explored_memory::of(*l.scheduler))
      return memory->culprit(w, lane, where);
  std::string const item =
      lane < 0 ? ""
               : fmt::format(", work-item {} of the group",
                             w.index * l.wavefront_size + static_cast<std::uint32_t>(lane));
  return fmt::format("  wavefront {} of {}{}{}{}\n{}", w.index, g.name(), item, where ? ", " : "",
                     where ? quarry::to_string(*where) : "", l.describe());
}

fault fault_of(work_group const& g, wave_slot const& w) {
  std::string const& kernel = g.launch->kernel;
  try {
    std::rethrow_exception(w.error);
  } catch (kernel_stop const& stop) {
    int const lane = stop.lane < 0 ? w.failed_lane : stop.lane;
    return {stop.what, kernel,
            fmt::format("{}: {}\n{}", to_string(stop.what), stop.message,
                        culprit(g, w, lane, stop.where))};
  } catch (...) {
    return {fault::kind::exception, kernel,
            fmt::format("the kernel {}\n{}", what_was_thrown(),
                        culprit(g, w, w.failed_lane, std::nullopt))};
  }
}

task<> throw_at_once(std::exception_ptr error) {
  std::rethrow_exception(std::move(error));
  co_return;
}

/// Explored executions: others may act before a wavefront's end makes its stores visible.
task<> before_its_end(task<> kernel, actor& self, executor& scheduler) {
  co_await std::move(kernel);
  scheduler.decision_point(self);
}

/// Of a wavefront that has not ended: whom it waits for, and what runs.
std::string note_on(work_group const& g, std::uint32_t wave, std::uint32_t agent) {
  wave_slot const& w = g.waves[wave];
  std::string note = g.absent_for(wave);
  note += note.empty() ? "" : "; ";
  if (std::string const lanes = w.lanes == nullptr ? "" : w.lanes->others_than(w.reason);
      !lanes.empty())
    note += lanes + "; ";
  return note +
         fmt::format("in {}, dispatch {} of agent {}", g.launch->kernel, g.launch->debug.id, agent);
}

} // namespace

compute_unit::compute_unit(agent_core& agent, executor& executor, machine const& m,
                           std::uint32_t number)
    : strand(executor, fmt::format("compute unit {}", number)), agent_(agent),
      decides_(executor.decides()), wavefront_size_(m.wavefront_size),
      free_slots_(m.wavefront_slots), free_lds_(m.lds_bytes) {
  debug_.self = this;
  debug_.name = name().c_str();
}

compute_unit::~compute_unit() {
  retire(); // before anything that drain() and describe() look at goes away
}

[[gnu::always_inline]] inline void compute_unit::start(wave_slot& w) noexcept {
  launch_state const& l = *w.group->launch;
  try {
    std::construct_at(&w.root, l.entry.start(l.bound, w)); // in place; it was empty
  } catch (...) { // copying an argument, say: the wavefront ends with it when it runs
    w.root = throw_at_once(std::current_exception());
  }
  if (!w.root) // of a function that has given no coroutine
    w.root = over_already();
  w.root.start_on(w);
}

[[gnu::always_inline]] inline void compute_unit::end_wave(work_group& g, wave_slot& w) {
  std::destroy_at(&w.root);
  std::construct_at(&w.root);
  g.finished |= work_group::wave_bits{1} << w.index;
  if (w.error) [[unlikely]]
    deliver_fault(g, w);
}

void compute_unit::start_now(wave_slot& w) {
  explored_memory* const memory = explored_memory::of(owner());
  if (memory != nullptr)
    memory->begin_wave(w, this, agent_);
  w.begin();
  start(w);
  if (memory != nullptr) {
    w.root = before_its_end(std::move(w.root), w, owner());
    w.root.start_on(w);
  }
}

[[gnu::noinline, gnu::cold]] void compute_unit::deliver_fault(work_group& g, wave_slot& w) {
  g.launch->fail(fault_of(g, w));
  w.error = nullptr;
  agent_.wake_units(); // they evict their groups of this launch
}

/// A plain kernel, all at once.
void compute_unit::run_plain(work_group& g) {
  turn_left_ -=
      static_cast<int>((g.wave_count + plain_waves_per_slice - 1) / plain_waves_per_slice);
  if (g.launch->entry.run_group(g.launch->bound, g)) [[likely]]
    return;
  for (std::uint32_t i = 0; i < g.wave_count; ++i)
    if (g.waves[i].error)
      deliver_fault(g, g.waves[i]);
}

/// The group that has just been placed, if its kernel is a plain one, and those that are claimed,
/// in the same place. Nobody else is here, and whoever comes is let in.
void compute_unit::run_claimed() {
  if (resident_.size() != 1)
    return;
  work_group& g = *resident_.front();
  launch_state& l = *g.launch;
  if (l.entry.run_group == nullptr || l.bounds != nullptr || g.ready != g.all)
    return;
  for (;;) {
    run_plain(g);
    if (claimed_.range.is_empty() || turn_left_ <= 0 || l.has_failed() || has_inbox() ||
        has_others() || !returning_.empty())
      return; // the group leaves as others do
    count_ended(l);
    enter(g, l);
  }
}

void compute_unit::run_ready(work_group& g) {
  if (g.launch->entry.run_group != nullptr)
    return run_plain(g);
  int left = turn_left_;
  for (; g.ready != 0 && left > -last_group_length; --left) {
    auto const i = static_cast<unsigned>(std::countr_zero(g.ready));
    work_group::wave_bits const bit = g.ready & -g.ready;
    wave_slot& w = g.waves[i];
    if ((g.fresh & bit) != 0)
      start(g.begin_first_fresh());
    else
      g.ready ^= bit;
    w.resume();
    if (w.state == actor_state::waiting) // most often: at a barrier
      continue;
    if (w.state == actor_state::done) {
      end_wave(g, w);
    } else if (w.state == actor_state::polling) {
      g.polling |= bit;
    } else if (w.state == actor_state::ready) { // it gives way: to all, as a poll that says yes
      w.poll = [](void*) { return true; };
      g.polling |= bit;
    }
  }
  turn_left_ = left;
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

/// Wake-ups of those that have gone meanwhile are nobody's: their frames are not there any more.
void compute_unit::take_woken() {
  for (actor* a = take_inbox(); a != nullptr;) {
    actor* const next = std::exchange(a->next, nullptr);
    actor* const runs = a->is_abandoned ? nullptr : a->on_ready();
    a = next;
    if (runs == nullptr)
      continue;
    if (typeid(*runs) != typeid(wave_slot)) { // a child of a wavefront's when_all() or nursery
      run_later(*runs);
      continue;
    }
    auto& wave = static_cast<wave_slot&>(*runs);
    work_group& g = *wave.group;
    g.ready |= (work_group::wave_bits{1} << wave.index) & g.all & ~g.finished;
  }
  bury_cancelled();
  std::ranges::move(leaving_lanes_, std::back_inserter(idle_lanes_));
  leaving_lanes_.clear();
}

/// All of its wavefronts have given up their slots, or ended.
bool compute_unit::has_yielded(work_group const& g) noexcept {
  return g.yielded != 0 && g.ready == 0 && (g.yielded | g.finished) == g.all;
}

/// Where nobody of the group can go on by himself: true if what they wait for is a fault.
inline bool compute_unit::has_failed_to_settle(work_group& g) {
  if (g.ready != 0 || g.polling != 0)
    return false;
  auto f = g.settle();
  if (!f)
    return false;
  g.launch->fail(std::move(*f));
  agent_.wake_units();
  return true;
}

/// Gives every resident group with something ready its turn. True if anything ran or ended.
bool compute_unit::run_resident() {
  bool progressed = false;
  for (std::size_t i = 0; i < resident_.size();) {
    if (turn_left_ <= 0) { // next turn begins with those that have had none
      std::rotate(resident_.begin(), resident_.begin() + static_cast<std::ptrdiff_t>(i),
                  resident_.end());
      return true;
    }
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
    if (has_yielded(g)) {
      park(i);
      continue;
    }
    if (has_failed_to_settle(g))
      continue;
    if (g.ready == 0 || turn_left_ <= 0) // where it could go on: it may wait for the others
      ++i;
  }
  return progressed;
}

/// Groups that keep each other busy must not keep out the one that they wait for, and wavefronts
/// that always go on must not keep out those that poll. True if anybody came in.
bool compute_unit::let_others_in() {
  if (resident_.empty()) {
    busy_turns_ = 0;
    return false;
  }
  bool const places = ++busy_turns_ % turns_before_another == 0 && place_one() == placed::yes;
  return ask_the_polling() || places;
}

/// Somebody polls; or groups are left that nobody could place, and one here may end.
bool compute_unit::must_look_again() const {
  bool const polls = std::any_of(resident_.begin(), resident_.end(),
                                 [](work_group const* g) { return g->polling != 0; });
  return polls || (!resident_.empty() && agent_.has_unclaimed());
}

strand::turn compute_unit::drain() {
  if (!parked_.empty())
    evict_failed_parked();
  bool progressed = let_others_in();
  for (turn_left_ = turn_length; turn_left_ > 0; turn_left_ -= placing_cost) {
    if (has_others())
      progressed = run_others() || progressed;
    if (has_inbox())
      take_woken();
    if (!resident_.empty() && (run_resident() || ask_the_polling())) {
      progressed = true;
      if (!resident_.empty() || turn_left_ <= 0)
        continue;
    }
    if (place_one() == placed::yes) {
      run_claimed();
      progressed = true;
      continue;
    }
    {
      native_scheduler::runs_itself const soon(*agent_.native_); // the turn is over
      report_ended();
    }
    give_claims_back(); // somebody else may have room
    return {progressed, must_look_again() || has_others() || !try_to_idle()};
  }
  report_ended();
  return {progressed, true};
}

void compute_unit::wave_done(wave_slot& w) noexcept {
  work_group& g = *w.group;
  if (auto* const memory = explored_memory::of(owner()))
    memory->end_wave(w);
  end_wave(g, w);
  if (g.launch->has_failed())
    agent_.evict_everywhere(*g.launch);
  else if (g.finished == g.all)
    leave(static_cast<std::size_t>(std::find(resident_.begin(), resident_.end(), &g) -
                                   resident_.begin()));
  else
    g.complete_if_all_wait();
  report_ended();
  agent_.place_everywhere();
}

bool compute_unit::settle_groups() {
  for (work_group* g : resident_) {
    auto const waiting = g->diverged;
    if (auto f = g->settle()) {
      agent_.stop(*g->launch, std::move(*f));
      return true;
    }
    if (g->diverged != waiting)
      return true;
  }
  return false;
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

void compute_unit::give_abandoned_lanes(std::unique_ptr<lane_slot[]> lanes) {
  leaving_lanes_.push_back(std::move(lanes));
}

void compute_unit::describe(report& into) const {
  strand::describe(into); // children of wavefronts
  for (auto const* const groups : {&resident_, &parked_})
    for (work_group const* g : *groups)
      for (std::uint32_t i = 0; i < g->wave_count; ++i)
        if ((g->finished & (work_group::wave_bits{1} << i)) == 0) {
          into.add(name(), g->waves[i], note_on(*g, i, rank_of(agent_.debug_entry())));
          if (agent_.scheduler().attachment() == nullptr) // else whoever explores has better names
            into.rows.back().place = agent_.known().locate(g->waves[i].reason.on);
        }
}

} // namespace quarry::emu

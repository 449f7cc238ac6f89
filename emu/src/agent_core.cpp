// SPDX-License-Identifier: Apache-2.0
#include "agent_checks.hpp"
#include "explore/explored_memory.hpp"
#include "launch_queue.hpp"

#include <quarry/assert.hpp>
#include <quarry/brief_lock.hpp>
#include <quarry/emu/agent_core.hpp>
#include <quarry/misuse.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace quarry::emu {
namespace {

/// Units that nobody may destroy, since wavefronts stand in them that will never go on. Reachable:
/// for a leak checker they are none.
void keep_for_good(std::vector<std::unique_ptr<compute_unit>>&& units) {
  static auto& mutex = *new std::mutex;
  static auto& all = *new std::vector<std::unique_ptr<compute_unit>>;
  std::lock_guard const lock(mutex);
  std::move(units.begin(), units.end(), std::back_inserter(all));
}

/// While it lives, reports say what the actor waits for that has been told that it does so in vain,
/// and not that it runs.
class still_waiting {
public:
  /// Null: nobody. One that is unwound has not waited, and its last reason may be of what has gone.
  explicit still_waiting(actor* who) noexcept
      : who_(who != nullptr && !who->is_abandoned && who->reason.where.line() != 0 ? who
                                                                                   : nullptr) {
    if (who_ != nullptr)
      state_ = std::exchange(who_->state, actor_state::polling);
  }
  still_waiting(still_waiting const&) = delete;
  still_waiting& operator=(still_waiting const&) = delete;
  ~still_waiting() {
    if (who_ != nullptr)
      who_->state = state_;
  }

private:
  actor* who_;
  actor_state state_{};
};

/// Of all launches but that one, those of which groups have no places, a line each.
std::string not_resident_beside(launch_state const& l, std::span<launch_state* const> all) {
  std::string text;
  for (launch_state* const other : all)
    if (std::uint64_t const waiting = other == &l ? 0 : other->unclaimed_count(); waiting != 0)
      text += fmt::format("beside it, {} of {} groups are not resident: {}\n", waiting,
                          other->group_count, other->describe());
  return text;
}

} // namespace

agent_core::agent_core(executor& scheduler, machine const& m, bool checks_bounds,
                       launch_path launches)
    : scheduler_(scheduler), native_(dynamic_cast<native_scheduler*>(&scheduler)),
      sequential_(dynamic_cast<sequential_scheduler*>(&scheduler)), machine_(m),
      checks_bounds_(checks_bounds || scheduler.decides()),
      is_launched_by_packets_(launches == launch_path::packets ||
                              (launches == launch_path::automatic && !scheduler.decides())) {
  if (auto* const memory = explored_memory::of(scheduler)) {
    known_.tell(memory);
    known_.include(memory->shared());
  }
  check(m);
  for (std::uint32_t i = 0; i < m.compute_units; ++i)
    debug_.units.push_back(
        units_.emplace_back(std::make_unique<compute_unit>(*this, scheduler, machine_, i))->debug_);
  debug_.scheduler = &scheduler.debug_entry();
  debug_.compute_units = m.compute_units;
  debug_.wavefront_slots = m.wavefront_slots;
  debug_.wavefront_size = m.wavefront_size;
  debug_.lds_bytes = m.lds_bytes;
  announce(debug_);
}

agent_core::~agent_core() {
  bool const is_explored = explored_memory::of(scheduler_) != nullptr;
  if (is_explored)
    find_launches();
  else
    need_no_launches();
  launch_queue_.reset();
  if (is_explored && !launches_.empty()) {
    // A world has gone without its launches. Their kernels stand where they are, for good: what
    // they would use on their way out has gone, or goes after this.
    for (auto const& u : units_) {
      u->retire();
      for (work_group* const g : u->resident_)
        for (std::uint32_t i = 0; i < g->wave_count; ++i)
          if ((g->finished >> i & 1) == 0)
            sequential_->leave(g->waves[i]);
    }
    keep_for_good(std::exchange(units_, {}));
  }
  launches_.clear(); // those that have ended nobody has joined
  units_.clear();    // before the command processor: one that ends a launch wakes it
  processor_.reset();
  withdraw(debug_);
}

/// What the world does from now on has a kernel in it that will never end; unless the execution is
/// on its way out: by an exception, given up, or when its frames are destroyed, in nobody's turn.
void agent_core::find_launches() {
  actor const* const host = exploring_host();
  if (host == nullptr || host->is_abandoned || std::uncaught_exceptions() != 0)
    return;
  if (auto const what = a_launch())
    explored_memory::of(scheduler_)
        ->found({"misuse", "agent",
                 "misuse: an agent is destroyed " + *what + "; is a wait() or join() missing?\n"});
}

void agent_core::need_no_launches() {
  if (auto const what = a_launch())
    misuse("an agent is destroyed " + *what);
}

/// "while a launch runs, of produce": one that has not ended.
std::optional<std::string> agent_core::a_launch() {
  if (launch_queue_ != nullptr)
    if (auto const kernel = launch_queue_->a_queued_kernel())
      return "before a launch has begun, of " + *kernel;
  brief_lock const lock(mutex_);
  for (launch_state const* const l : launches_)
    if (!l->is_done())
      return "while a launch runs, of " + l->kernel;
  return std::nullopt;
}

void agent_core::add_queue(debug_queue& q) {
  brief_lock const lock(mutex_);
  debug_.queues.push_back(q);
}
void agent_core::remove_queue(debug_queue& q) noexcept {
  brief_lock const lock(mutex_);
  debug_.queues.remove(q);
}

void agent_core::launch(std::shared_ptr<launch_state> l, native_scheduler::wake_workers wake) {
  if (!is_launched_by_packets_ || launches_by_packets().is_here())
    return start(*l, wake);
  std::optional<native_scheduler::runs_itself> here;
  if (wake == native_scheduler::wake_workers::no && native_ != nullptr)
    here.emplace(*native_); // the thread's, which fibers share
  launches_by_packets().submit(std::move(l));
}

outcome agent_core::join(launch_state& l) {
  try {
    outcome end = wait_for_all_of(l);
    leave_if_abandoned();
    return end;
  } catch (std::bad_alloc const&) { // of the scheduler's: the launch may still run
    join_quietly(l);
    throw;
  }
}

void agent_core::join_quietly(launch_state& l) noexcept {
  static_cast<void>(wait_for_all_of(l));
}

outcome agent_core::wait_for_all_of(launch_state& l) {
  outcome end = l.completion != nullptr ? launch_queue_->wait(l) : wait(l);
  if (!l.is_settled()) // a stall's time at most: then it is left as it is
    static_cast<void>(scheduler_.run_until([&] { return l.is_settled(); }));
  return end;
}

void agent_core::leave_if_abandoned() const {
  actor const* const self = sequential_ != nullptr ? sequential_->current() : nullptr;
  if (self == nullptr || !self->is_abandoned || std::uncaught_exceptions() != 0)
    return;
  sequential_->count_unwinding(*sequential_->current());
  throw abandoned{};
}

bool agent_core::has_ended(launch_state const& l) {
  if (l.completion != nullptr)
    return launch_queue_->has_ended(l);
  sequential_scheduler::before_asking_here();
  return l.is_done();
}

launch_queue& agent_core::launches_by_packets() {
  std::call_once(has_launch_queue_,
                 [this] { launch_queue_ = std::make_unique<launch_queue>(*this); });
  return *launch_queue_;
}

void agent_core::start(launch_state& l, native_scheduler::wake_workers wake) {
  bool is_alone = false;
  {
    brief_lock const lock(mutex_);
    is_alone = launches_.empty();
    launches_.push_back(&l);
    l.debug.self = &l;
    l.debug.kernel = l.kernel.c_str();
    l.debug.id = ++debug_.dispatch_count;
    l.debug.first_wave = debug_.wave_count;
    debug_.wave_count += l.group_count * l.waves_per_group;
    debug_.dispatches.push_back(l.debug);
  }
  if (auto* const memory = native_ != nullptr ? nullptr : explored_memory::of(scheduler_))
    try {
      memory->launching(l);
    } catch (...) { // it has not begun
      forget(l);
      throw;
    }
  try {
    place(l.group_count, is_alone, wake);
  } catch (std::exception const& e) { // some of its groups may run: they end as after any fault
    [&]() noexcept {
      stop(l, {fault::kind::exception, l.kernel,
               fmt::format("{}: its groups find no places: {}", l.kernel, e.what())});
    }();
  }
}

void agent_core::forget(launch_state& l) {
  brief_lock const lock(mutex_);
  std::erase(launches_, &l);
  debug_.dispatches.remove(l.debug);
}

void agent_core::place(std::uint64_t groups, bool is_alone, native_scheduler::wake_workers wake) {
  if (native_ == nullptr)
    return place_everywhere();
  // Beside other launches, the first units may be full and others free.
  std::uint64_t const units =
      is_alone ? std::min<std::uint64_t>(groups, units_.size()) : units_.size();
  for (std::uint64_t i = 0; i < units; ++i)
    native_->post(*units_[i], wake);
}

outcome agent_core::wait(launch_state& l) {
  auto const is_done = [](void const* launch) {
    return static_cast<launch_state const*>(launch)->is_done();
  };
  while (!run_until_settled(is_done, &l, l.config.where))
    give_up(l);
  retire(l);
  return outcome(l.first_fault);
}

void agent_core::retire(launch_state& l, bool by_core) {
  if (auto* const memory = explored_memory::of(scheduler_))
    memory->completed(l, by_core);
  if (explored_memory::of(scheduler_) == nullptr || !l.has_failed())
    l.tell_heirs(); // where somebody explores, a fault has ended the execution
  forget(l);
}

/// Where wavefronts of a group wait for each other for ever, they get their faults and go on.
bool agent_core::run_until_settled(bool (*is_over)(void const*), void const* argument,
                                   std::source_location where) {
  auto const ask = [&] { return is_over(argument); };
  while (!scheduler_.run_until(ask, executor::wait_site{"launch", where}))
    if (sequential_ == nullptr || std::none_of(units_.begin(), units_.end(),
                                               [](auto const& u) { return u->settle_groups(); }))
      return false;
  return true;
}

fault agent_core::stuck(std::string_view what) {
  bool const is_native = native_ != nullptr;
  still_waiting const now(sequential_ == nullptr ? nullptr : sequential_->current());
  return {is_native ? fault::kind::stall : fault::kind::deadlock, std::string(what),
          fmt::format("{}: {}\n{}", what,
                      is_native ? "nothing progressed for the stall timeout"
                                : "deadlock: nobody can go on",
                      scheduler_.report_now().to_string())};
}

actor* agent_core::exploring_host() const noexcept {
  return explored_memory::of(scheduler_) != nullptr ? sequential_->current() : nullptr;
}

command_processor& agent_core::processor() {
  brief_lock const lock(mutex_);
  if (processor_ == nullptr)
    processor_ = std::make_unique<command_processor>(
        *this, command_processor::options{.cores = machine_.command_processor_cores,
                                          .rounds = machine_.command_processor_rounds});
  return *processor_;
}

std::uint64_t agent_core::note_loaded(kernel_code const& code) {
  brief_lock const lock(mutex_);
  loaded_.emplace(++last_loaded_, code);
  return last_loaded_;
}

void agent_core::note_unloaded(std::uint64_t kernel_object) noexcept {
  brief_lock const lock(mutex_);
  loaded_.erase(kernel_object);
}

std::optional<kernel_code> agent_core::find_loaded(std::uint64_t kernel_object) {
  brief_lock const lock(mutex_);
  auto const found = loaded_.find(kernel_object);
  return found == loaded_.end() ? std::nullopt : std::optional(found->second);
}

void agent_core::give_up(launch_state& l) {
  std::uint64_t const waiting = l.unclaimed_count();
  auto const* const explored = explored_memory::of(scheduler_);
  report const table = [&] {
    still_waiting const now(sequential_ == nullptr ? nullptr : sequential_->current());
    return explored != nullptr ? explored->who_waits() : scheduler_.report_now();
  }();
  if (l.is_done()) // meanwhile: the table waits for those that are busy
    return;
  std::string const why =
      table.busy.empty()
          ? fmt::format("all places are taken ({} compute units, {} wavefront slots and {} bytes "
                        "of LDS each)",
                        machine_.compute_units, machine_.wavefront_slots, machine_.lds_bytes)
          : "they wait for compute units that are busy";
  std::string_view const started =
      native_ != nullptr ? "compute units take ranges of groups: lower ones may start later\n"
      : l.is_descending  ? "the last groups have started first\n"
                         : "";
  std::string const absent = waiting == 0 ? ""
                                          : fmt::format("{} of {} groups are not resident: {}\n{}",
                                                        waiting, l.group_count, why, started);
  fault f{fault::kind::deadlock, l.kernel, "deadlock: nobody can go on\n"};
  if (sequential_ != nullptr && sequential_->is_out_of_decisions())
    f = {fault::kind::stall, l.kernel,
         fmt::format("stall: no end after {} decisions, the most that the scheduler takes\n{}",
                     sequential_->decision_count(), absent)};
  else if (waiting != 0 && table.busy.empty())
    f = {fault::kind::not_resident, l.kernel, "deadlock: the resident groups wait, and " + absent};
  else if (native_ != nullptr) // who runs may yet come to an end
    f = {fault::kind::stall, l.kernel,
         "stall: nothing progressed for the stall timeout\n" + absent};
  {
    brief_lock const lock(mutex_);
    f.report += not_resident_beside(l, launches_);
  }
  f.report += table.to_string() + l.describe();
  // A kernel that runs cannot be stopped: nobody may hear of the fault for long.
  bool const is_to_be_told = native_ != nullptr && !table.busy.empty() && !l.has_failed();
  std::string const said = f.report;
  stop(l, std::move(f));
  if (is_to_be_told)
    fmt::print(stderr, "quarry: {}\nwhat runs comes to no suspension, and is waited for\n", said);
}

void agent_core::stop(launch_state& l, fault f) {
  l.fail(std::move(f));
  if (native_ != nullptr) {
    wake_units(); // each evicts its own groups
    return;
  }
  evict_everywhere(l);
  place_everywhere(); // those that have waited for the room
}

bool agent_core::has_wave(std::uint64_t address) const noexcept {
  return std::any_of(units_.begin(), units_.end(),
                     [address](auto const& unit) { return unit->has(address); });
}

compute_unit::placed agent_core::for_each_launch(compute_unit& by) {
  brief_lock const lock(mutex_);
  for (launch_state* l : launches_) {
    // In order: a later launch does not overtake one that finds no room.
    auto const p = by.place_from(*l);
    if (p != compute_unit::placed::nothing_left)
      return p;
  }
  return compute_unit::placed::nothing_left;
}

bool agent_core::has_unclaimed() {
  brief_lock const lock(mutex_);
  return std::any_of(launches_.begin(), launches_.end(),
                     [](launch_state* l) { return l->unclaimed_count() != 0; });
}

void agent_core::wake_units() {
  if (native_ == nullptr)
    return;
  // Without a launch nobody has anything to do; and the agent may be going away just now.
  brief_lock const lock(mutex_);
  if (launches_.empty())
    return;
  for (auto const& u : units_)
    native_->post(*u);
}

/// A group to each unit in turn, as dispatchers do it: what two share they share by chance.
void agent_core::place_everywhere() {
  for (std::size_t full = 0; full != units_.size(); next_unit_ = (next_unit_ + 1) % units_.size())
    full = units_[next_unit_]->place_one() == compute_unit::placed::yes ? 0 : full + 1;
}

void agent_core::evict_everywhere(launch_state& l) {
  for (auto const& u : units_)
    u->evict(l);
}

void agent_core::let_go(wave_slot& w) {
  if (sequential_ != nullptr)
    sequential_->abandon(w);
  else
    std::atomic_ref(w.is_abandoned).store(true, std::memory_order_relaxed); // wakers look
}

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#include "end_of_wait.hpp"
#include "explore/explored_memory.hpp"

#include <quarry/emu/agent_core.hpp>
#include <quarry/emu/loaded_kernel.hpp>
#include <quarry/emu/packet_processor.hpp>
#include <quarry/what_was_thrown.hpp>

#include <fmt/core.h>

#include <new>
#include <stdexcept>
#include <utility>

namespace quarry::emu {
namespace {

global<std::int64_t> signal_word(std::uint64_t handle) {
  return global<std::int64_t>(reinterpret_cast<std::int64_t*>(handle));
}

/// A packet cannot be done; says why.
[[noreturn]] void refuse(std::string const& why) {
  throw std::invalid_argument(why);
}
[[noreturn]] void refuse_word(char const* what, std::uint64_t address) {
  refuse(
      fmt::format("{} {:#x}, which is no 8-byte word of device memory that this agent knows; one "
                  "of another agent is to be registered here (signal::share_with())",
                  what, address));
}

} // namespace

packet_processor::packet_processor(agent_core& agent, user_queue& queue, functions known,
                                   launches prepared)
    : agent_(agent), queue_(queue), functions_(std::move(known)), prepared_(std::move(prepared)),
      by_(agent.processor()), core_(by_.least_busy_core()), running_(agent) {
  queue_.begin_serving();
  queue_.describe(debug_);
  debug_.is_in_caches = explored_memory::of(agent.scheduler()) == nullptr ? 0 : 1;
  agent_.add_queue(debug_);
  try {
    if (auto* const memory = explored_memory::of(agent.scheduler()))
      memory->tell_of(this, [this] {
        std::string const held_up = what_is_held_up();
        return held_up.empty() ? held_up : fmt::format("{}\n", held_up);
      });
    serving_.emplace(by_.serve(*this, core_));
  } catch (...) {
    leave_queue();
    throw;
  }
  if (!agent.scheduler().decides())
    queue_.tell(this);
}

packet_processor::~packet_processor() {
  queue_.tell(nullptr);
  serving_.reset();
  leave_queue();
}

void packet_processor::leave_queue() {
  if (auto* const memory = explored_memory::of(agent_.scheduler()))
    memory->tell_of(this, nullptr);
  agent_.remove_queue(debug_);
  queue_.end_serving();
}

// For a host

outcome packet_processor::wait(signal& s) {
  std::int64_t value = 1;
  auto stuck = agent_.with_host([&](auto const& host) {
    return agent_.wait_until("wait for a signal of " + name(), [&] {
      value = host.load(s.word(), order::acquire, scope::system);
      return value <= 0;
    });
  });
  if (auto* const memory = explored_memory::of(agent_.scheduler()))
    memory->to_host(); // as after every launch
  agent_.leave_if_abandoned();
  if (value == 0)
    return {};
  auto own = first_fault();
  if (stuck) { // why it waits, perhaps
    tell_what_is_held_up(*stuck);
    if (own)
      stuck->report += "\nthe first fault of " + name() + ":\n" + own->report;
    return end_of_wait(agent_.scheduler(), std::move(stuck));
  }
  return outcome(own ? std::move(*own)
                     : fault{fault::kind::bad_packet, name(),
                             fmt::format("a signal is {}: a packet that counts in it has failed, "
                                         "none of {}, or it was counted down too often",
                                         value, name())});
}

outcome packet_processor::submit(packet const& p) {
  auto end = agent_.with_host([&](auto const& host) {
    std::optional<packet_claim> mine;
    auto const room = [&] { return queue_.has_room(host); };
    std::optional<fault> stuck;
    while (!stuck && !(mine = queue_.try_reserve(host)))
      stuck = agent_.wait_until("wait for room in " + name(), room);
    if (stuck)
      return stuck;
    host.store(queue_.slot(*mine), p);
    while (!stuck && !queue_.try_commit(host, *mine))
      stuck = agent_.wait_until("wait for the doorbell of " + name(),
                                [&] { return queue_.is_turn(host, *mine); });
    return stuck;
  });
  agent_.leave_if_abandoned();
  if (end)
    tell_what_is_held_up(*end);
  return end_of_wait(agent_.scheduler(), std::move(end));
}

std::optional<fault> packet_processor::first_fault() {
  std::lock_guard const lock(mutex_);
  return first_fault_;
}

void packet_processor::blame(fault f) {
  found_where_explored(agent_.scheduler(), f);
  note(std::move(f));
}

void packet_processor::note(fault f) {
  std::lock_guard const lock(mutex_);
  if (!first_fault_)
    first_fault_ = std::move(f);
}

// A service

template<class Core>
task<bool> packet_processor::poll(Core& self) {
  bool const finished = finish_dispatches(self);
  bool const took = take_packet(self);
  co_return finished || took;
}

template<class Core>
bool packet_processor::has_work(Core& self) {
  if (running_.any_ended())
    return true;
  return is_blocked_ ? is_due(self, next_) : queue_.is_ready(self);
}

template task<bool> packet_processor::poll(basic_core<native_memory>&);
template task<bool> packet_processor::poll(basic_core<interleaving_memory>&);
template bool packet_processor::has_work(basic_core<native_memory>&);
template bool packet_processor::has_work(basic_core<interleaving_memory>&);

/// Tells of the kernels that have ended since the last time.
template<class Core>
bool packet_processor::finish_dispatches(Core& self) {
  return running_.finish([&](launch_state const& l, packet_end const& e) {
    if (l.first_fault && !e.was_prepared) {
      has_failed_ = true;
      note(*l.first_fault);
    }
    complete(self, e, !l.first_fault);
  });
}

/// Looks at one packet; takes it and does it once it is due.
template<class Core>
bool packet_processor::take_packet(Core& self) {
  bool const is_new = !is_blocked_;
  if (is_new) {
    if (!queue_.is_ready(self))
      return false;
    next_ = self.load(queue_.next());
    number_ = queue_.next_index();
    is_blocked_ = true;
  }
  if (!is_due(self, next_)) {
    if (is_new)
      hold_up(true);
    return false;
  }
  if (!is_new)
    hold_up(false);
  queue_.release(self); // not before it is due: whoever serves the queue next would miss it
  is_blocked_ = false;
  do_packet(self, next_);
  return true;
}

/// Has everything happened that the packet waits for?
template<class Core>
bool packet_processor::is_due(Core& self, packet const& p) {
  if (has_failed_)
    return true;
  packet_header const h = p.header();
  if (h.barrier && !running_.is_empty())
    return false;
  if (h.type == packet_type::barrier_and || h.type == packet_type::barrier_or)
    return is_over(self, p.as<barrier_packet>(), h.type == packet_type::barrier_and);
  return true;
}

template<class Core>
bool packet_processor::is_over(Core& self, barrier_packet const& p, bool all) {
  int waits_for = 0, counted_down = 0, failed = 0;
  depends_on_failed_ = false;
  for (std::uint64_t const handle : p.dep_signal) {
    if (handle == 0)
      continue;
    if (!is_word(handle))
      return true; // it is refused
    ++waits_for;
    std::int64_t const value = self.load(signal_word(handle), order::relaxed, scope::system);
    counted_down += value == 0 ? 1 : 0;
    failed += value < 0 ? 1 : 0; // nobody will count it down
  }
  depends_on_failed_ = failed != 0 && (all || counted_down == 0);
  return counted_down + failed == waits_for || (!all && counted_down != 0);
}

template<class Core>
void packet_processor::do_packet(Core& self, packet const& p) {
  packet_header const h = p.header();
  // Of the three kinds the last word is the signal.
  std::uint64_t const signal = p.words.back();
  packet_end const end{h.release, signal, number_};
  packet_end const in_vain{fence_scope::none, signal, number_};
  if (has_failed_)
    return complete(self, in_vain, false);
  try {
    if (signal != 0 && !is_word(signal))
      refuse_word("its completion signal is", signal);
    if (h.acquire > fence_scope::system || h.release > fence_scope::system)
      refuse("its fence scopes are 3; allowed are 0, none, 1, agent, and 2, system");
    if (h.type != packet_type::kernel_dispatch && h.type != packet_type::service &&
        h.type != packet_type::barrier_and && h.type != packet_type::barrier_or)
      refuse(fmt::format("its type is {}; allowed are 2, kernel dispatch, 3 and 5, barrier-and and "
                         "-or, and 4, service",
                         static_cast<int>(h.type)));
    if (h.acquire != fence_scope::none) // of the signals, too, that packets before it have read
      self.fence(order::acquire, scope_of(h.acquire));
    if (h.type == packet_type::kernel_dispatch) {
      if (!start(p.as<dispatch_packet>(), h))
        complete(self, in_vain, false);
      return;
    }
    if (h.type == packet_type::service)
      call(self, p.as<service_packet>());
    else
      check(p.as<barrier_packet>());
    return complete(self, end, true);
  } catch (abandoned const&) { // the processor may have gone
    throw;
  } catch (std::invalid_argument const& e) {
    blame({fault::kind::bad_packet, name(),
           fmt::format("{}: packet {} is refused: {}", name(), number_, e.what())});
  } catch (...) { // a service function's, or there is no memory: the core goes on
    blame({fault::kind::exception, name(),
           fmt::format("{}: packet {} {}", name(), number_, what_was_thrown())});
  }
  has_failed_ = true;
  complete(self, in_vain, false);
}

void packet_processor::check(barrier_packet const& p) const {
  for (std::uint64_t const handle : p.dep_signal)
    if (handle != 0 && !is_word(handle))
      refuse_word("it waits for", handle);
  if (depends_on_failed_)
    refuse("it waits for a signal that is negative: what was to count it down has failed, or it "
           "was counted down too often");
}

template<class Core>
void packet_processor::call(Core& self, service_packet const& p) {
  auto const f = functions_.find(p.function);
  if (f == functions_.end()) {
    std::string known;
    for (auto const& [number, what] : functions_)
      known += fmt::format("{}{}", known.empty() ? "" : ", ", number);
    refuse(fmt::format("it calls function {}; {}", p.function,
                       known.empty() ? "there are none" : "those there are: " + known));
  }
  if (p.return_address != 0 && !is_word(p.return_address))
    refuse_word("its result goes to", p.return_address);
  std::uint64_t const result = f->second(p.arguments);
  if (p.return_address != 0)
    self.store(global<std::uint64_t>(reinterpret_cast<std::uint64_t*>(p.return_address)), result);
}

/// The end of a packet: a release as far as its scope goes, with the count or before it.
template<class Core>
void packet_processor::complete(Core& self, packet_end const& e, bool good) {
  bool const counts = e.signal != 0 && is_word(e.signal);
  bool const releases = counts && e.release == fence_scope::system; // no fence: TSan knows none
  if (e.release != fence_scope::none && !releases)
    self.fence(order::release, scope_of(e.release));
  if (!counts) {
    if (e.signal != 0 && good) // it was one when the packet began
      blame(
          {fault::kind::bad_packet, name(),
           fmt::format("{}: the completion signal of packet {}, {:#x}, has gone before the packet "
                       "has ended",
                       name(), e.number, e.signal)});
    return;
  }
  order const how = releases ? order::release : order::relaxed;
  if (!good || self.fetch_sub(signal_word(e.signal), 1, how, scope::system) < 0) // it stays -1
    self.store(signal_word(e.signal), -1, how, scope::system);
  agent_.scheduler().notify(); // a host that waits looks again
}

bool packet_processor::start(dispatch_packet const& p, packet_header h) {
  if (prepared_)
    if (auto l = prepared_(p.kernel_object)) {
      try {
        running_.start(l, {h.release, p.completion_signal, number_, true});
        return true;
      } catch (std::bad_alloc const&) { // it has not begun
        l->fail(
            {fault::kind::exception, l->kernel, l->kernel + ": there is no memory to start it"});
        return false;
      }
    }
  auto code = agent_.find_loaded(p.kernel_object);
  if (!code || reinterpret_cast<std::uintptr_t>(code->arguments.get()) != p.kernarg_address)
    refuse(fmt::format("kernel object {} with arguments {:#x} is not loaded on this agent: its "
                       "loaded_kernel has gone, or is another agent's",
                       p.kernel_object, p.kernarg_address));
  if (p.setup < 1 || p.setup > 3)
    refuse(fmt::format("it has {} dimensions; allowed are 1 to 3", p.setup));
  for (std::size_t d = p.setup; d < 3; ++d)
    if (p.grid_size[d] != 1 || p.work_group_size[d] != 1)
      refuse(fmt::format("dimension {} of {} is not 1", d, p.setup));
  auto l = std::make_unique<launch_state>();
  l->config = {
      .work_items = {p.grid_size[0], p.grid_size[1], p.grid_size[2]},
      .work_items_per_group = {p.work_group_size[0], p.work_group_size[1], p.work_group_size[2]},
      .lds_bytes = p.group_segment_bytes,
      .where = {}}; // no line of anybody's: the packet names itself
  l->kernel = fmt::format("{} (packet {} of {})", code->name, number_, name());
  l->entry = code->entry;
  l->bound = code->arguments.get();
  l->keeps_alive = std::move(code->arguments);
  l->acquire = h.acquire;
  l->release = h.release;
  agent_.prepare(*l);
  await_end(*l);
  running_.start(std::move(l), {h.release, p.completion_signal, number_});
  return true;
}

void packet_processor::await_end(launch_state& l) const noexcept {
  if (agent_.scheduler().decides())
    return; // there nobody sleeps
  l.started_by = &by_;
  l.started_by_core = core_;
}

bool packet_processor::is_word(std::uint64_t address) const noexcept {
  auto const* const at = reinterpret_cast<void const*>(address);
  return address % sizeof(std::uint64_t) == 0 &&
         (agent_.known().contain(at, sizeof(std::uint64_t)) ||
          queue_.known().contain(at, sizeof(std::uint64_t)));
}

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#include "explored_memory.hpp"

#include "host_word.hpp"

#include <quarry/assert.hpp>
#include <quarry/emu/agent_core.hpp>
#include <quarry/emu/launch_state.hpp>
#include <quarry/emu/memory.hpp>
#include <quarry/emu/work_group.hpp>

#include <fmt/core.h>

#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace quarry::emu {
namespace {

std::uint64_t first_value(std::uintptr_t at, unsigned bytes, void*) {
  return host_word(at, bytes);
}

/// Before the first execution.
class no_choices final : public chooser {
  unsigned pick(unsigned, choice_kind) override { return 0; }
} nothing_to_choose;

thread_local explored_memory* running_here = nullptr;

} // namespace

explored_memory::explored_memory(sequential_scheduler& scheduler, options o)
    : scheduler_(scheduler), options_(o), machine_(nothing_to_choose) {
  machine_.set_first_value(&first_value, nullptr);
  machine_.set_tag_join(
      [](void* races, cache_machine::write_tag a, cache_machine::write_tag b) {
        return static_cast<race_detector*>(races)->join(a, b);
      },
      &races_);
  races_.lint_direct(o.direct_lint);
  scheduler_.attach(this);
}

explored_memory::~explored_memory() {
  end();
  scheduler_.attach(nullptr);
}

explored_memory* explored_memory::running() noexcept {
  return running_here;
}

void explored_memory::end() noexcept {
  if (running_here == this)
    running_here = nullptr;
  map_.share(nullptr);
  kept_.free();
}

bool keep_to_end(void* memory, std::size_t bytes,
                 void (*free)(void*, std::size_t) noexcept) noexcept {
  explored_memory* const explored = explored_memory::running();
  return explored != nullptr && explored->keep(memory, bytes, free);
}

void explored_memory::begin(chooser& choices, bool keeps_history) {
  running_here = this;
  choices_ = &choices;
  machine_.clear();
  machine_.choose_by(choices);
  effects_.begin(choices);
  history_.begin(keeps_history);
  has_left_out_ = false;
  given_up_.reset();
  looks_.reset();
  machine_.note_left_out(notes_left_out_ ? &has_left_out_ : nullptr);
  ++execution_;
  map_.clear();
  tellers_.clear();
  races_.reset();
  port_count_ = 0;
  coming_waves_ = 0;
  by_number_.clear();
  agents_.clear();
  units_.clear();
  if (!launches_.empty())
    launches_.clear();
  lds_.clear();
  uninitialised_.clear();
  coarse_.clear();
  missed_.reset();
  activity_ = 0;
  finding_.reset();
  is_told_ = is_found_by_unwinding_ = false;
  misuse_by_unwinding_.clear();
  equal_count_ = 0;
  names_.clear();
  wave_count_ = group_count_ = host_count_ = 0;
}

explored_memory* explored_memory::of(executor const& scheduler) noexcept {
  if (running_here != nullptr && &running_here->scheduler_ == &scheduler) [[likely]]
    return running_here;
  return dynamic_cast<explored_memory*>(scheduler.attachment());
}

// Actors

void explored_memory::check_room() const {
  if (actor_count() >= most_actors)
    throw std::length_error(fmt::format("explore: an execution has at most {} actors, those that "
                                        "have ended among them",
                                        most_actors));
}

cache_port& explored_memory::add(actor_id id, race_detector::place where) {
  QUARRY_ASSERT(id == port_count_ && port_count_ < most_actors);
  races_.add_actor(id, where);
  if (port_count_ == actors_.size()) {
    actors_.emplace_back();
    ports_.emplace_back(*this, id);
  }
  known_actor& a = actors_[id];
  a.operations = 0;
  a.last = {};
  a.looks = 0;
  end_polling(id);
  cache_port& port = ports_[port_count_++];
  port.set_lds(nullptr, 0);
  return port;
}

cache_port& explored_memory::join_host(actor& self, cache_port*& port) {
  QUARRY_ASSERT(self.number != 0);
  check_room();
  // Host threads share the host; each is a work-group and a wavefront by itself.
  std::uint32_t const number = host_count_++;
  port = &add(machine_.add_host(), {0, 0, ~number, ~number});
  effects_.name_cache(machine_.cache_of(port->id()), effect_teller::cache_kind::of_actor,
                      self.number);
  names_.name_host(port->id(), self.name());
  return *port;
}

void explored_memory::join_core(actor& self, agent_core const& agent) {
  QUARRY_ASSERT(self.number != 0);
  cache_port*& port = port_of(self);
  QUARRY_ASSERT(port == nullptr);
  check_room();
  known_unit const above = agent_of(agent);
  std::uint32_t const number = ~host_count_++; // a work-group and a wavefront by itself
  port = &add(machine_.add_core(above.node), {0, above.number, number, number});
  effects_.name_cache(machine_.cache_of(port->id()), effect_teller::cache_kind::of_actor,
                      self.number);
  names_.name_core(port->id(), self.name(), above.rank);
}

explored_memory::known_unit const& explored_memory::agent_of(agent_core const& agent) {
  for (known_unit const& u : agents_)
    if (u.unit == &agent)
      return u;
  agents_.push_back({&agent, machine_.add_agent(), static_cast<std::uint32_t>(agents_.size() + 1),
                     rank_of(agent.debug_entry())});
  effects_.name_cache(agents_.back().node, effect_teller::cache_kind::of_agent, agents_.size());
  return agents_.back();
}

cache_machine::node_id explored_memory::node_of(void const* unit, agent_core const& agent) {
  for (known_unit const& u : units_)
    if (u.unit == unit)
      return u.node;
  cache_machine::node_id const node = machine_.add_compute_unit(agent_of(agent).node);
  units_.push_back({unit, node, static_cast<std::uint32_t>(units_.size() + 1)});
  effects_.name_cache(node, effect_teller::cache_kind::of_compute_unit, units_.size());
  return node;
}

// Operations as they are written

cache_machine::reading explored_memory::load_lds(actor_id who, cache_port::word_access const& w,
                                                 race_detector::site by) {
  auto const at = w.address();
  check_lds(who, at, w.bytes, by);
  if (w.order == order::seq_cst) // after its seq_cst stores to other memory
    machine_.perform_seq_cst(who);
  cache_machine::reading const r{host_word(at, w.bytes), lds_.of(at, w.bytes, races_)};
  if (w.order && acquires(*w.order))
    machine_.fence(who, order::acquire, w.scope);
  return r;
}

void explored_memory::watch(actor_id who, operation_kind what, std::optional<order>& o, scope& s,
                            std::source_location where) {
  if (adjustment const* const a = operations_.see(
          {.where = where, .what = what, .how = o, .far = s}, names_.is_host(who))) {
    o = a->how;
    s = a->far;
  }
}

std::optional<order> explored_memory::watch_network(operation_kind what, bool is_hosts,
                                                    std::source_location where) {
  adjustment const* const a = operations_.see(
      {.where = where, .what = what, .how = std::nullopt, .far = scope::system}, is_hosts);
  return a == nullptr ? std::nullopt : std::optional(a->how);
}

// Launches

void explored_memory::expect_waves(launch_state const& l, std::uint64_t count) {
  known_launch& known = launches_[&l]; // or one that was there before, and has not completed
  coming_waves_ += count - known.coming;
  known = {};
  known.coming = count;
}

void explored_memory::launching(launch_state& l) {
  ++activity_;
  effects_.tell_any();
  if (!l.fits_at_once)
    l.is_descending = choices_->pick(2, choice_kind::group_order) == 1;
  actor* const self = scheduler_.current();
  if (self == nullptr)
    return;
  cache_port& port = join(*self);
  end_polling(port.id());
  host_writes_.take(port.id());
  launches_[&l].edges = {races_.signal(port.id())};
}

void explored_memory::begin_wave(wave_slot& w, void const* unit, agent_core const& agent) {
  ++activity_;
  effects_.tell_any();
  auto const cu = node_of(unit, agent);
  std::uint32_t const agent_number = agent_of(agent).number;
  std::uint32_t const number = ++wave_count_;
  launch_state const& launch = *w.group->launch;
  known_launch& known = launches_[&launch];
  QUARRY_ASSERT(known.coming != 0);
  --known.coming;
  --coming_waves_;
  if (known.place == ~0U) {
    known.place = names_.add_launch(launch, agent_of(agent).rank);
    known.first_group = group_count_;
    group_count_ += static_cast<std::uint32_t>(launch.group_count);
  }
  auto const group = known.first_group + static_cast<std::uint32_t>(w.group->linear_id);
  w.port = &add(machine_.add_wavefront(cu), {0, agent_number, group, number});
  effects_.name_cache(machine_.cache_of(w.port->id()), effect_teller::cache_kind::of_wavefront,
                      number);
  names_.name_wave(w.port->id(), known.place, w.group->id, w.index,
                   w.group->linear_id * launch.waves_per_group + w.index + 1);
  w.port->set_lds(w.group->lds, w.group->lds_capacity);
  if (launch.acquire != fence_scope::none && !known.edges.empty())
    races_.receive(w.port->id(), known.edges.front());
  races_.begin_kernel(w.port->id());
  if (launch.acquire == fence_scope::system)
    machine_.kernel_boundary(w.port->id(), order::acquire);
  else if (launch.acquire == fence_scope::agent)
    machine_.synchronise(w.port->id(), order::acquire, scope::agent);
}

void explored_memory::end_wave(wave_slot& w) {
  ++activity_;
  effects_.tell_any();
  launch_state const& launch = *w.group->launch;
  if (launch.release == fence_scope::none)
    return;
  if (launch.release == fence_scope::system)
    machine_.kernel_boundary(w.port->id(), order::release);
  else
    machine_.synchronise(w.port->id(), order::release, scope::agent);
  launches_[&launch].edges.push_back(races_.end_kernel(w.port->id()));
}

void explored_memory::completed(launch_state& l, bool by_core) {
  ++activity_;
  effects_.tell_any();
  actor* const self = scheduler_.current();
  if (self != nullptr) {
    cache_port& port = join(*self);
    for (auto const e : launches_[&l].edges)
      races_.receive(port.id(), e);
    machine_.synchronise(port.id(), order::acquire, by_core ? scope::agent : scope::system);
    end_polling(port.id());
  }
  coming_waves_ -= launches_[&l].coming;
  launches_.erase(&l);
  if (!by_core)
    to_host();
}

void explored_memory::meet(work_group& g, std::uint32_t who) {
  ++activity_;
  effects_.tell_any();
  std::array<actor_id, work_group::most_waves> those;
  std::size_t count = 0;
  for (; who != 0; who &= who - 1) {
    those[count] = g.waves[static_cast<unsigned>(std::countr_zero(who))].port->id();
    end_polling(those[count]);
    machine_.synchronise(those[count++], order::release, scope::work_group);
  }
  for (std::size_t i = 0; i < count; ++i)
    machine_.synchronise(those[i], order::acquire, scope::work_group);
  races_.meet({those.data(), count});
}

void explored_memory::removed(void const* begin, std::size_t bytes) noexcept {
  effects_.tell_any();
  map_.forget_accessed();
  for (actor_id a = 0; a < port_count_; ++a) // it may come back with other values
    end_polling(a);
  machine_.forget(reinterpret_cast<std::uintptr_t>(begin), bytes,
                  [](std::uintptr_t at, unsigned size, std::uint64_t value) {
                    std::memcpy(reinterpret_cast<void*>(at), &value, size); // NOLINT
                  });
  races_.forget(reinterpret_cast<std::uintptr_t>(begin), bytes);
  auto const first = reinterpret_cast<std::uintptr_t>(begin), end = first + bytes;
  lds_.forget(first, end);
  uninitialised_.remove(first);
  coarse_.remove(first);
}

void explored_memory::has_gone(known_range&& what) noexcept {
  map_.has_gone(std::move(what));
}

void explored_memory::listens_to(allocations const& those) {
  map_.add(those);
}

void explored_memory::left(allocations const& those) noexcept {
  map_.remove(those);
}

bool explored_memory::settle() {
  bool const any = machine_.settle();
  if (any)
    effects_.tell_any();
  return any;
}

void explored_memory::added() {
  effects_.tell_any(); // what was known there already has another name now
}

void explored_memory::added_uninitialised(void const* begin, std::size_t bytes) {
  uninitialised_.add(reinterpret_cast<std::uintptr_t>(begin), bytes);
}

void explored_memory::added_coarse_grained(void const* begin, std::size_t bytes) {
  auto const first = reinterpret_cast<std::uintptr_t>(begin);
  coarse_.add(first, bytes);
  machine_.coarsen(first, bytes);
  races_.coarsen(first, bytes);
}

} // namespace quarry::emu

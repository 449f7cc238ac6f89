// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/agent_core.hpp>
#include <quarry/emu/explored_memory.hpp>
#include <quarry/emu/launch_state.hpp>
#include <quarry/emu/memory.hpp>
#include <quarry/emu/work_group.hpp>
#include <quarry/report.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace quarry::emu {
namespace {

std::uint64_t host_word(std::uintptr_t at, unsigned bytes) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, reinterpret_cast<void const*>(at), bytes); // NOLINT: memory of the execution
  return word;
}

std::uint64_t first_value(std::uintptr_t at, unsigned bytes, void*) {
  return host_word(at, bytes);
}

/// Before the first execution.
class no_choices final : public chooser {
  unsigned pick(unsigned, choice_kind) override { return 0; }
} nothing_to_choose;

} // namespace

explored_memory::explored_memory(sequential_scheduler& scheduler, options o)
    : scheduler_(scheduler), options_(o), machine_(nothing_to_choose) {
  machine_.set_first_value(&first_value, nullptr);
  races_.lint_direct(o.direct_lint);
  scheduler_.attach(this);
}

explored_memory::~explored_memory() {
  scheduler_.attach(nullptr);
}

void explored_memory::begin(chooser& choices, bool keeps_history) {
  keeps_history_ = keeps_history;
  machine_.clear();
  machine_.choose_by(choices);
  races_.reset();
  ports_.clear();
  actors_.clear();
  by_actor_.clear();
  agents_.clear();
  units_.clear();
  launches_.clear();
  lds_writes_.clear();
  word_numbers_.clear();
  history_.clear();
  finding_.reset();
  wave_count_ = host_count_ = 0;
  operations_ = 0;
}

explored_memory* explored_memory::of(executor const& scheduler) noexcept {
  return dynamic_cast<explored_memory*>(scheduler.attachment());
}

// Actors

cache_port& explored_memory::add(actor_id id, race_detector::place where, std::string name) {
  races_.add_actor(id, where);
  actors_.push_back({std::move(name)});
  return ports_.emplace_back(*this, id);
}

cache_port& explored_memory::join(actor& self) {
  auto const [it, is_new] = by_actor_.try_emplace(&self, nullptr);
  if (is_new) {
    // Host threads share the host; each is a work-group and a wavefront by itself.
    std::uint32_t const number = host_count_++;
    it->second = &add(machine_.add_host(), {0, 0, ~number, ~number}, self.name());
  }
  return *it->second;
}

cache_machine::node_id explored_memory::node_of(void const* unit, agent_core const& agent) {
  auto const find = [](std::vector<known_unit>& those, void const* which, auto make) {
    for (known_unit const& u : those)
      if (u.unit == which)
        return u.node;
    those.push_back({which, make(), static_cast<std::uint32_t>(those.size() + 1)});
    return those.back().node;
  };
  auto const above = find(agents_, &agent, [&] { return machine_.add_agent(); });
  return find(units_, unit, [&] { return machine_.add_compute_unit(above); });
}

// Launches

void explored_memory::launching(launch_state& l) {
  actor* const self = scheduler_.current();
  if (self == nullptr)
    return;
  cache_port& port = join(*self);
  machine_.fence(port.id(), order::release, scope::system);
  // What the host has written without us, since the last completion.
  auto const look = [&](std::uintptr_t at, unsigned bytes, std::uint64_t, std::uint64_t& outside) {
    std::uint64_t const now = host_word(at, bytes);
    if (now != std::exchange(outside, now))
      direct_writes_.push_back({at, bytes, now});
  };
  machine_.for_each_word(look);
  for (auto const& w : direct_writes_)
    machine_.store(port.id(), w.at, w.bytes, w.value, order::seq_cst, scope::system);
  direct_writes_.clear();
  launches_[&l] = {races_.signal(port.id())};
}

void explored_memory::begin_wave(wave_slot& w, void const* unit, agent_core const& agent) {
  auto const cu = node_of(unit, agent);
  auto const agent_number = std::find_if(agents_.begin(), agents_.end(), [&](known_unit const& u) {
                              return u.unit == &agent;
                            })->number;
  std::uint32_t const number = ++wave_count_;
  auto const group = static_cast<std::uint32_t>(w.group->linear_id) * 4096 +
                     static_cast<std::uint32_t>(launches_.size());
  w.port = &add(machine_.add_wavefront(cu), {0, agent_number, group, number}, w.name());
  w.port->set_lds(w.group->lds, w.group->lds_capacity);
  if (auto const& l = launches_[w.group->launch]; !l.empty())
    races_.receive(w.port->id(), l.front());
  machine_.fence(w.port->id(), order::acquire, scope::system);
}

void explored_memory::end_wave(wave_slot& w) {
  machine_.fence(w.port->id(), order::release, scope::system);
  launches_[w.group->launch].push_back(races_.signal(w.port->id()));
}

void explored_memory::completed(launch_state& l) {
  actor* const self = scheduler_.current();
  if (self != nullptr) {
    cache_port& port = join(*self);
    for (auto const e : launches_[&l])
      races_.receive(port.id(), e);
    machine_.fence(port.id(), order::acquire, scope::system);
  }
  launches_.erase(&l);
  to_host();
}

void explored_memory::meet(work_group& g, std::uint32_t who) {
  std::array<actor_id, work_group::most_waves> those;
  std::size_t count = 0;
  for (; who != 0; who &= who - 1) {
    those[count] = g.waves[static_cast<unsigned>(std::countr_zero(who))].port->id();
    machine_.fence(those[count++], order::release, scope::work_group);
  }
  for (std::size_t i = 0; i < count; ++i)
    machine_.fence(those[i], order::acquire, scope::work_group);
  races_.meet({those.data(), count});
}

explored_memory::edge explored_memory::signal(actor& self) {
  actor_id const id = join(self).id();
  machine_.fence(id, order::release, scope::system);
  return races_.signal(id);
}

void explored_memory::receive(actor& self, edge from) {
  actor_id const id = join(self).id();
  machine_.fence(id, order::acquire, scope::system);
  races_.receive(id, from);
}

void explored_memory::removed(void const* begin, std::size_t bytes) noexcept {
  machine_.forget(reinterpret_cast<std::uintptr_t>(begin), bytes,
                  [](std::uintptr_t at, unsigned size, std::uint64_t value) {
                    std::memcpy(reinterpret_cast<void*>(at), &value, size); // NOLINT
                  });
}

void explored_memory::to_host() {
  machine_.for_each_word(
      [](std::uintptr_t at, unsigned bytes, std::uint64_t value, std::uint64_t& outside) {
        if (outside != value)
          std::memcpy(reinterpret_cast<void*>(at), &value, bytes); // NOLINT
        outside = value;
      });
}

// History

void explored_memory::remember(actor_id who, char const* what, std::optional<order> o, scope s,
                               std::uintptr_t at, std::uint64_t value, std::source_location where,
                               std::string_view more) {
  if (!keeps_history_ || finding_)
    return;
  std::string const how =
      o ? fmt::format("{} {}", to_string(*o), to_string(s)) : std::string("plain");
  std::string const word =
      at == 0
          ? ""
          : fmt::format("word {} = {:#x}",
                        word_numbers_.try_emplace(at, word_numbers_.size()).first->second, value);
  history_.push_back(fmt::format("  {:>5}  {:<26} {:<6} {:<18} {:<24} {}{}\n", ++operations_,
                                 actors_[who].name, what, how, word, quarry::to_string(where),
                                 more));
  if (history_.size() > history_lines)
    history_.pop_front();
}

std::string explored_memory::history() const {
  std::string all;
  for (std::string const& line : history_)
    all += line;
  return all;
}

// Findings

void explored_memory::found(finding f) {
  if (!finding_)
    finding_ = std::move(f);
}

void explored_memory::found(fault const& f) {
  found({std::string(to_string(f.what)), f.kernel, f.report});
}

void explored_memory::note(std::optional<race_detector::race> const& race) {
  if (!race || finding_)
    return;
  auto const name_of = [this](race_detector::actor_id id) { return actors_[id].name; };
  auto const word_of = [this](std::uintptr_t at) {
    auto const known = word_numbers_.find(at);
    return known == word_numbers_.end() ? std::string() : fmt::format("word {}", known->second);
  };
  found({"race",
         fmt::format("{} and {}", quarry::to_string(race->first.at.where),
                     quarry::to_string(race->second.at.where)),
         to_string(*race, name_of, word_of)});
}

// Accesses

void explored_memory::watch(operation_kind what, std::optional<order>& o, scope& s,
                            std::source_location where) {
  operation_site const site{where, what, o, s};
  if (collected_ != nullptr &&
      std::find(collected_->begin(), collected_->end(), site) == collected_->end())
    collected_->push_back(site);
  for (adjustment const& a : adjustments_)
    if (a.at == site) {
      o = a.how;
      s = a.far;
    }
}

std::uint64_t cache_port::load_word(void const* at, std::size_t bytes, std::optional<order> o,
                                    scope s, std::source_location where, int lane) const {
  return read(at, bytes, o, s, nullptr, nullptr, where, lane);
}

std::uint64_t cache_port::load_word_if(void const* at, std::size_t bytes, order o, scope s,
                                       cache_machine::predicate is_met, void* argument,
                                       std::source_location where) const {
  return read(at, bytes, o, s, is_met, argument, where, -1);
}

std::uint64_t cache_port::read(void const* at, std::size_t bytes, std::optional<order> o, scope s,
                               cache_machine::predicate is_met, void* argument,
                               std::source_location where, int lane) const {
  auto const address = reinterpret_cast<std::uintptr_t>(at);
  auto const size = static_cast<unsigned>(bytes);
  if (memory_->watches_) [[unlikely]]
    memory_->watch(operation_kind::load, o, s, where);
  cache_machine::reading r{0, 0};
  if (is_lds(at))
    r = {host_word(address, size), memory_->lds_writes_[address]};
  else
    r = memory_->machine_.load_if(id_, address, size, o, s, is_met, argument);
  memory_->remember(id_, "load", o, s, address, r.value, where, r.is_stale ? ", stale" : "");
  if (memory_->options_.detects_races)
    memory_->note(memory_->races_.load(id_, address, size, o, s, r.by, site(where, lane)));
  return r.value;
}

void cache_port::store_word(void const* at, std::size_t bytes, std::uint64_t word,
                            std::optional<order> o, scope s, std::source_location where,
                            int lane) const {
  auto const address = reinterpret_cast<std::uintptr_t>(at);
  auto const size = static_cast<unsigned>(bytes);
  if (memory_->watches_) [[unlikely]]
    memory_->watch(operation_kind::store, o, s, where);
  race_detector::write_id by = 0;
  memory_->remember(id_, "store", o, s, address, word, where);
  if (memory_->options_.detects_races)
    memory_->note(memory_->races_.store(id_, address, size, o, s, by, site(where, lane)));
  if (is_lds(at)) {
    std::memcpy(const_cast<void*>(at), &word, bytes);
    memory_->lds_writes_[address] = by;
  } else if (o)
    memory_->machine_.store(id_, address, size, word, *o, s, by);
  else
    memory_->machine_.store(id_, address, size, word, by);
}

std::uint64_t cache_port::update_word(void const* at, std::size_t bytes, order o, scope s,
                                      std::source_location where,
                                      std::optional<std::uint64_t> (*f)(std::uint64_t, void*),
                                      void* argument) const {
  watched(operation_kind::update, o, s, where);
  auto const address = reinterpret_cast<std::uintptr_t>(at);
  auto const size = static_cast<unsigned>(bytes);
  if (is_lds(at)) {
    std::uint64_t const old = host_word(address, size);
    auto const desired = f(old, argument);
    if (desired)
      std::memcpy(const_cast<void*>(at), &*desired, bytes);
    race_detector::write_id by = 0;
    if (memory_->options_.detects_races)
      memory_->note(memory_->races_.update(id_, address, size, o, s, memory_->lds_writes_[address],
                                           desired.has_value(), by, site(where, -1)));
    if (desired)
      memory_->lds_writes_[address] = by;
    return old;
  }
  race_detector::write_id by = 0;
  auto const old = memory_->machine_.update(
      id_, address, size, o, s, [&](std::uint64_t value, cache_machine::write_tag read_from) {
        auto const desired = f(value, argument);
        memory_->remember(id_, "update", o, s, address, desired.value_or(value), where);
        if (memory_->options_.detects_races)
          memory_->note(memory_->races_.update(id_, address, size, o, s, read_from,
                                               desired.has_value(), by, site(where, -1)));
        return std::pair(desired, by);
      });
  return old.value;
}

void cache_port::begin_instruction() const {
  if (memory_->options_.detects_races)
    memory_->races_.begin_instruction(id_);
}

void cache_port::fence(order o, scope s, std::source_location where) const {
  watched(operation_kind::fence, o, s, where);
  memory_->remember(id_, "fence", o, s, 0, 0, where);
  memory_->machine_.fence(id_, o, s);
  if (memory_->options_.detects_races)
    memory_->races_.fence(id_, o, s, site(where, -1));
}

/// Atomic operations and fences: changes the order and scope, if somebody wants it.
void cache_port::watched(operation_kind what, order& o, scope& s,
                         std::source_location where) const {
  if (!memory_->watches_)
    return;
  std::optional<order> how = o;
  memory_->watch(what, how, s, where);
  o = *how;
}

bool cache_port::could_load_word(void const* at, std::size_t bytes, order o, scope s,
                                 cache_machine::predicate is_met, void* argument,
                                 std::source_location where) const {
  watched(operation_kind::load, o, s, where);
  auto const address = reinterpret_cast<std::uintptr_t>(at);
  auto const size = static_cast<unsigned>(bytes);
  if (is_lds(at))
    return is_met(host_word(address, size), argument);
  return memory_->machine_.could_load(id_, address, size, o, s, is_met, argument);
}

race_detector::site cache_port::site(std::source_location where, int lane) noexcept {
  race_detector::site s{};
  s.where = where;
  s.lane = static_cast<std::int16_t>(lane);
  return s;
}

cache_port* find_port(memory_context const& c) {
  if (c.port != nullptr || c.scheduler == nullptr || c.self == nullptr)
    return c.port;
  explored_memory* const memory = explored_memory::of(*c.scheduler);
  return memory == nullptr ? nullptr : &memory->join(*c.self);
}

void wait_on_fiber(cache_port const& port, bool (*ask)(void*), void* argument, void const* on,
                   std::source_location where) {
  actor* const self = port.scheduler().current();
  self->poll_for("wait_until", where, on, ask, argument);
  self->fiber->suspend();
  if (self->is_abandoned)
    throw abandoned{};
}

sequential_scheduler& cache_port::scheduler() const noexcept {
  return memory_->scheduler();
}

} // namespace quarry::emu

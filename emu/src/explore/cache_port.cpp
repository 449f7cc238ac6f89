// SPDX-License-Identifier: Apache-2.0
// The accesses of an actor: to LDS, or to the caches; past the race detector.
#include "explored_memory.hpp"
#include "host_word.hpp"
#include "lane_site.hpp"

#include <quarry/emu/memory.hpp>

#include <fmt/core.h>

#include <cstring>
#include <type_traits>
#include <utility>

namespace quarry::emu {

static_assert(std::is_same_v<cache_port::actor_id, cache_machine::actor_id> &&
              std::is_same_v<cache_port::predicate, cache_machine::predicate>);

namespace {

/// Who has written nothing, by a load or a compare-exchange that failed, has released nothing.
order as_done(order o, bool has_written) noexcept {
  if (has_written || !releases(o))
    return o;
  return acquires(o) ? order::acquire : order::relaxed;
}

} // namespace

// NOLINTBEGIN(readability-function-size): an access has that many properties
std::uint64_t cache_port::load_word(void const* at, std::size_t bytes, std::optional<order> o,
                                    scope s, std::source_location where, int lane) const {
  return read(at, bytes, o, s, nullptr, nullptr, where, lane);
}

std::uint64_t cache_port::load_word_if(void const* at, std::size_t bytes, order o, scope s,
                                       predicate is_met, void* argument,
                                       std::source_location where) const {
  return read(at, bytes, o, s, is_met, argument, where, -1);
}

std::uint64_t cache_port::read(void const* at, std::size_t bytes, std::optional<order> o, scope s,
                               predicate is_met, void* argument, std::source_location where,
                               int lane) const {
  auto const address = reinterpret_cast<std::uintptr_t>(at);
  auto const size = static_cast<unsigned>(bytes);
  if (memory_->operations_.is_wanted()) [[unlikely]]
    memory_->watch(id_, operation_kind::load, o, s, where);
  memory_->limit(s, address);
  if (o)
    memory_->end_polling(id_, *o);
  cache_machine::reading r{0, 0};
  if (is_lds(at)) {
    memory_->check_lds(id_, address, size, lane_site(where, lane_or(lane)));
    if (o == order::seq_cst) // after its seq_cst stores to other memory
      memory_->machine_.perform_seq_cst(id_);
    r = {host_word(address, size), memory_->lds_.of(address, size, memory_->races_)};
    if (o && acquires(*o))
      memory_->machine_.fence(id_, order::acquire, s);
  } else if (!memory_->is_allocated(id_, address, size, where)) [[unlikely]] {
    return 0;
  } else {
    if (is_met == nullptr) {
      r = memory_->machine_.load_if(id_, address, size, o, s, nullptr, nullptr);
    } else {
      sequential_scheduler::predicate const asked(memory_->scheduler());
      r = memory_->machine_.load_if(id_, address, size, o, s, is_met, argument);
    }
    if (r.first_bytes != 0 && !memory_->uninitialised_.is_empty())
      memory_->check_initialised(id_, address, size, r, lane_site(where, lane_or(lane)));
    if (r.is_stale)
      memory_->miss(id_, address, where);
    if (!o && lane == -1)
      memory_->watch_polling(id_, address, size, r.value, where);
  }
  memory_->effects_.tell(address, o);
  memory_->count(id_, where);
  memory_->note_look(id_, address, where);
  memory_->remember(id_, "load", o, s, address, size, r.value, where,
                    r.is_stale ? operation_history::stale : "");
  if (memory_->options_.detects_races)
    memory_->note(
        memory_->races_.load(id_, address, size, o, s, r.by, lane_site(where, lane_or(lane))));
  if (o) {
    memory_->note_idle(id_);
    order_lanes(as_done(*o, false), r.by);
  }
  return r.value;
}

void cache_port::store_word(void const* at, std::size_t bytes, std::uint64_t word,
                            std::optional<order> o, scope s, std::source_location where,
                            int lane) const {
  auto const address = reinterpret_cast<std::uintptr_t>(at);
  auto const size = static_cast<unsigned>(bytes);
  if (memory_->operations_.is_wanted()) [[unlikely]]
    memory_->watch(id_, operation_kind::store, o, s, where);
  memory_->limit(s, address);
  bool const is_in_lds = is_lds(at);
  if (!is_in_lds && !memory_->is_allocated(id_, address, size, where)) [[unlikely]]
    return;
  race_detector::write_id by = 0;
  memory_->count(id_, where);
  memory_->end_polling(id_, address, size);
  memory_->note_change(id_);
  memory_->remember(id_, "store", o, s, address, size, word, where);
  if (memory_->options_.detects_races)
    memory_->note(
        memory_->races_.store(id_, address, size, o, s, by, lane_site(where, lane_or(lane))));
  if (is_in_lds) {
    memory_->machine_.release_before_write(id_, o, s);
    std::memcpy(const_cast<void*>(at), &word, bytes);
    memory_->lds_.add(address, size, by);
  } else if (o)
    memory_->machine_.store(id_, address, size, word, *o, s, by);
  else
    memory_->machine_.store(id_, address, size, word, by);
  if (o && releases(*o))
    order_lanes(order::release, std::nullopt);
  memory_->effects_.tell(address, o);
}

std::uint64_t cache_port::update_word(void const* at, std::size_t bytes, order o, scope s,
                                      std::source_location where,
                                      std::optional<std::uint64_t> (*f)(std::uint64_t, void*),
                                      void* argument) const {
  watched(operation_kind::update, o, s, where);
  auto const address = reinterpret_cast<std::uintptr_t>(at);
  memory_->limit(s, address);
  auto const size = static_cast<unsigned>(bytes);
  memory_->count(id_, where);
  memory_->end_polling(id_, o);
  memory_->end_polling(id_, address, size);
  memory_->note_look(id_, address, where);
  if (is_lds(at))
    return update_lds_word(at, size, o, s, where, f, argument);
  if (!memory_->is_allocated(id_, address, size, where)) [[unlikely]]
    return 0;
  race_detector::write_id by = 0;
  bool changes = false;
  auto const desire = [&](std::uint64_t value) { return f(value, argument); };
  auto const old = memory_->machine_.update(
      id_, address, size, o, s, desire,
      [&](cache_machine::reading const& r, std::optional<std::uint64_t> desired) {
        changes = desired && *desired != r.value;
        memory_->remember(id_, "update", o, s, address, size, desired.value_or(r.value), where,
                          r.is_stale ? operation_history::stale
                          : desired  ? ""
                                     : operation_history::failed);
        if (memory_->options_.detects_races)
          memory_->note(memory_->races_.update(id_, address, size, o, s, r.by, desired.has_value(),
                                               by, lane_site(where, lane_)));
        return by;
      });
  memory_->note_update(id_, changes);
  order_lanes(as_done(o, by != 0), old.by);
  if (old.first_bytes != 0 && !memory_->uninitialised_.is_empty())
    memory_->check_initialised(id_, address, size, old, lane_site(where, lane_));
  memory_->effects_.tell(address, o);
  return old.value;
}

std::uint64_t cache_port::update_lds_word(void const* at, unsigned size, order o, scope s,
                                          std::source_location where,
                                          std::optional<std::uint64_t> (*f)(std::uint64_t, void*),
                                          void* argument) const {
  auto const address = reinterpret_cast<std::uintptr_t>(at);
  memory_->effects_.tell_any();
  memory_->check_lds(id_, address, size, lane_site(where, lane_));
  memory_->machine_.release_before_write(id_, o, s);
  std::uint64_t const old = host_word(address, size);
  auto const desired = f(old, argument);
  if (desired)
    std::memcpy(const_cast<void*>(at), &*desired, size);
  if (acquires(o))
    memory_->machine_.fence(id_, order::acquire, s);
  memory_->remember(id_, "update", o, s, address, size, desired.value_or(old), where,
                    desired ? "" : operation_history::failed);
  race_detector::write_id const from = memory_->lds_.of(address, size, memory_->races_);
  race_detector::write_id by = 0;
  if (memory_->options_.detects_races)
    memory_->note(memory_->races_.update(id_, address, size, o, s, from, desired.has_value(), by,
                                         lane_site(where, lane_)));
  memory_->note_update(id_, desired && *desired != old);
  order_lanes(as_done(o, desired.has_value()), from);
  if (desired)
    memory_->lds_.add(address, size, by);
  return old;
}

void cache_port::begin_instruction() const {
  if (memory_->options_.detects_races)
    memory_->races_.begin_instruction(id_);
}

void cache_port::lanes_wait() const {
  if (memory_->options_.detects_races)
    memory_->races_.lanes_wait(id_);
}

void cache_port::lanes_meet(lane_mask who) const {
  if (memory_->options_.detects_races)
    memory_->races_.lanes_meet(id_, who.bits());
}

bool cache_port::reverses_lanes() const {
  return memory_->choices_->pick(2, choice_kind::lane_order) == 1;
}

/// Of a lane: what another one has released may be what it has got, from that write or (nothing)
/// from any.
void cache_port::order_lanes(order o, std::optional<race_detector::write_id> from) const {
  if (lane_ == -1 || !memory_->options_.detects_races)
    return;
  auto const lane = static_cast<std::int16_t>(lane_);
  if (acquires(o))
    memory_->races_.lane_acquires(id_, lane, from);
  if (releases(o))
    memory_->races_.lane_releases(id_, lane);
}

void cache_port::fence(order o, scope s, std::source_location where) const {
  watched(operation_kind::fence, o, s, where);
  memory_->count(id_, where);
  memory_->end_polling(id_, o);
  memory_->remember(id_, "fence", o, s, 0, 0, 0, where);
  if (o == order::release)
    memory_->machine_.release_later(id_, s);
  else
    memory_->machine_.fence(id_, o, s);
  memory_->effects_.tell(0, o);
  if (memory_->options_.detects_races)
    memory_->races_.fence(id_, o, s, lane_site(where, lane_));
  order_lanes(o, std::nullopt);
}

/// Atomic operations and fences: changes the order and scope, if somebody wants it.
void cache_port::watched(operation_kind what, order& o, scope& s,
                         std::source_location where) const {
  if (!memory_->operations_.is_wanted())
    return;
  std::optional<order> how = o;
  memory_->watch(id_, what, how, s, where);
  o = *how;
}

void cache_port::report_misuse(char const* what, std::source_location where) const {
  memory_->blame("misuse", id_, lane_site(where, lane_), fmt::format(": {}", what));
}

bool cache_port::could_load_word(void const* at, std::size_t bytes, order o, scope s,
                                 predicate is_met, void* argument,
                                 std::source_location where) const {
  watched(operation_kind::load, o, s, where);
  auto const address = reinterpret_cast<std::uintptr_t>(at);
  memory_->limit(s, address);
  auto const size = static_cast<unsigned>(bytes);
  if (is_lds(at)) {
    sequential_scheduler::predicate const asked(memory_->scheduler());
    return is_met(host_word(address, size), argument);
  }
  bool could = false;
  if (!memory_->machine_.still_could_not(id_, address, size, o, s, is_met, argument)) {
    if (!memory_->is_allocated(id_, address, size, where)) [[unlikely]]
      return false;
    sequential_scheduler::predicate const asked(memory_->scheduler());
    could = memory_->machine_.could_load(id_, address, size, o, s, is_met, argument);
  }
  if (!could)
    memory_->miss(id_, address, where);
  // A poll on behalf of an actor that waits changes nothing but the first time.
  if (memory_->effects_.is_asked() && (memory_->effects_.has_more() || memory_->may_run(*this)))
    memory_->effects_.tell(address, std::nullopt);
  return could;
}

// NOLINTEND(readability-function-size)

cache_port* find_port(memory_context const& c) {
  if (c.port != nullptr || c.scheduler == nullptr || c.self == nullptr)
    return c.port;
  explored_memory* const memory = explored_memory::of(*c.scheduler);
  return memory == nullptr ? nullptr : &memory->join(*c.self);
}

std::uint64_t cache_port::operation_count() const noexcept {
  return memory_->actors_[id_].operations;
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

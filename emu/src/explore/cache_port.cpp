// SPDX-License-Identifier: Apache-2.0
// The accesses of an actor: to LDS, or to the caches; past the race detector.
#include "explored_memory.hpp"
#include "host_word.hpp"
#include "lane_site.hpp"

#include <quarry/emu/memory.hpp>

#include <fmt/core.h>

#include <cstring>
#include <string_view>
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

std::string_view what_it_saw(cache_machine::reading const& r) noexcept {
  return r.is_stale ? operation_history::stale : "";
}

} // namespace

/// What may change the order and the scope in which it is performed.
inline void cache_port::begin(operation_kind what, word_access& w) const {
  if (memory_->operations_.is_wanted()) [[unlikely]]
    memory_->watch(id_, what, w.order, w.scope, w.where);
  memory_->limit(w.scope, w.address());
}

std::uint64_t cache_port::load_word(word_access&& w, predicate is_met, void* argument) const {
  begin(operation_kind::load, w);
  auto const at = w.address();
  int const lane = lane_or(w.lane);
  if (w.order)
    memory_->end_polling(id_, *w.order);
  cache_machine::reading r{0, 0};
  if (is_lds(w.at)) {
    r = memory_->load_lds(id_, w, lane_site(w.where, lane));
  } else if (!memory_->is_allocated(id_, at, w.bytes, w.where)) [[unlikely]] {
    return 0;
  } else {
    if (is_met == nullptr) {
      r = memory_->machine_.load_if(id_, at, w.bytes, w.order, w.scope, nullptr, nullptr);
    } else {
      sequential_scheduler::predicate const asked(memory_->scheduler());
      r = memory_->machine_.load_if(id_, at, w.bytes, w.order, w.scope, is_met, argument);
    }
    if (r.first_bytes != 0 && !memory_->uninitialised_.is_empty())
      memory_->check_initialised(id_, at, w.bytes, r, lane_site(w.where, lane));
    if (r.is_stale)
      memory_->miss(id_, at, w.where);
    if (!w.order && w.lane == -1)
      memory_->watch_polling(id_, at, w.bytes, r.value, w.where);
  }
  memory_->effects_.tell(at, w.order);
  memory_->count(id_, w.where);
  memory_->note_look(id_, at, w.where);
  if (memory_->remembers()) [[unlikely]]
    remember(w, "load", r.value, what_it_saw(r));
  if (memory_->options_.detects_races)
    memory_->note(memory_->races_.load(access_of(w, id_, lane), r.by));
  if (w.order) {
    memory_->note_idle(id_);
    order_lanes(as_done(*w.order, false), r.by);
  }
  return r.value;
}

void cache_port::store_word(word_access&& w, std::uint64_t word) const {
  begin(operation_kind::store, w);
  auto const at = w.address();
  bool const is_in_lds = is_lds(w.at);
  if (!is_in_lds && !memory_->is_allocated(id_, at, w.bytes, w.where)) [[unlikely]]
    return;
  race_detector::write_id by = 0;
  memory_->count(id_, w.where);
  memory_->end_polling(id_, at, w.bytes);
  memory_->note_change(id_);
  if (memory_->remembers()) [[unlikely]]
    remember(w, "store", word);
  if (memory_->options_.detects_races)
    memory_->note(memory_->races_.store(access_of(w, id_, lane_or(w.lane)), by));
  if (is_in_lds) {
    memory_->machine_.release_before_write(id_, w.order, w.scope);
    std::memcpy(const_cast<void*>(w.at), &word, w.bytes);
    memory_->lds_.add(at, w.bytes, by);
  } else {
    memory_->machine_.store(id_, at, w.bytes, word, w.order, w.scope, by);
  }
  if (w.order && releases(*w.order))
    order_lanes(order::release, std::nullopt);
  memory_->effects_.tell(at, w.order);
}

std::uint64_t cache_port::update_word(word_access&& w, change_function f, void* argument) const {
  begin(operation_kind::update, w);
  auto const at = w.address();
  order const o = *w.order;
  memory_->count(id_, w.where);
  memory_->end_polling(id_, o);
  memory_->end_polling(id_, at, w.bytes);
  memory_->note_look(id_, at, w.where);
  if (is_lds(w.at))
    return update_lds_word(w, f, argument);
  if (!memory_->is_allocated(id_, at, w.bytes, w.where)) [[unlikely]]
    return 0;
  race_detector::write_id by = 0;
  bool changes = false;
  auto const desire = [&](std::uint64_t value) { return f(value, argument); };
  auto const old = memory_->machine_.update(
      id_, at, w.bytes, o, w.scope, desire,
      [&](cache_machine::reading const& r, std::optional<std::uint64_t> desired) {
        changes = desired && *desired != r.value;
        if (memory_->remembers()) [[unlikely]]
          remember(w, "update", desired.value_or(r.value),
                   r.is_stale || desired ? what_it_saw(r) : operation_history::failed);
        by = note_update(w, r.by, desired.has_value());
        return by;
      });
  memory_->note_update(id_, changes);
  order_lanes(as_done(o, by != 0), old.by);
  if (old.first_bytes != 0 && !memory_->uninitialised_.is_empty())
    memory_->check_initialised(id_, at, w.bytes, old, lane_site(w.where, lane_));
  memory_->effects_.tell(at, o);
  return old.value;
}

std::uint64_t cache_port::update_lds_word(word_access const& w, change_function f,
                                          void* argument) const {
  auto const at = w.address();
  order const o = *w.order;
  memory_->effects_.tell_any();
  memory_->check_lds(id_, at, w.bytes, lane_site(w.where, lane_));
  memory_->machine_.release_before_write(id_, o, w.scope);
  std::uint64_t const old = host_word(at, w.bytes);
  auto const desired = f(old, argument);
  if (desired)
    std::memcpy(const_cast<void*>(w.at), &*desired, w.bytes);
  if (acquires(o))
    memory_->machine_.fence(id_, order::acquire, w.scope);
  if (memory_->remembers()) [[unlikely]]
    remember(w, "update", desired.value_or(old), desired ? "" : operation_history::failed);
  race_detector::write_id const from = memory_->lds_.of(at, w.bytes, memory_->races_);
  race_detector::write_id const by = note_update(w, from, desired.has_value());
  memory_->note_update(id_, desired && *desired != old);
  order_lanes(as_done(o, desired.has_value()), from);
  if (desired)
    memory_->lds_.add(at, w.bytes, by);
  return old;
}

void cache_port::remember(word_access const& w, char const* what, std::uint64_t value,
                          std::string_view more) const {
  memory_->write_down({id_, what, w.order, w.scope, w.address(), w.bytes, value, w.where, more});
}

/// To the race detector. What the write is called, if it was one.
std::uint32_t cache_port::note_update(word_access const& w, std::uint32_t from, bool wrote) const {
  race_detector::write_id by = 0;
  if (memory_->options_.detects_races)
    memory_->note(memory_->races_.update(access_of(w, id_, lane_), from, wrote, by));
  return by;
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
  if (memory_->operations_.is_wanted()) [[unlikely]] {
    std::optional<order> how = o;
    memory_->watch(id_, operation_kind::fence, how, s, where);
    o = *how;
  }
  memory_->count(id_, where);
  memory_->end_polling(id_, o);
  if (memory_->remembers()) [[unlikely]]
    remember({.at = nullptr, .bytes = 0, .order = o, .scope = s, .where = where}, "fence", 0);
  if (o == order::release)
    memory_->machine_.release_later(id_, s);
  else
    memory_->machine_.fence(id_, o, s);
  memory_->effects_.tell(0, o);
  if (memory_->options_.detects_races)
    memory_->races_.fence(id_, o, s, lane_site(where, lane_));
  order_lanes(o, std::nullopt);
}

void cache_port::report_misuse(char const* what, std::source_location where) const {
  memory_->blame("misuse", id_, lane_site(where, lane_), fmt::format(": {}", what));
}

bool cache_port::could_load_word(word_access&& w, predicate is_met, void* argument) const {
  begin(operation_kind::load, w);
  auto const at = w.address();
  order const o = *w.order;
  if (is_lds(w.at)) {
    sequential_scheduler::predicate const asked(memory_->scheduler());
    return is_met(host_word(at, w.bytes), argument);
  }
  bool could = false;
  if (!memory_->machine_.still_could_not(id_, at, w.bytes, o, w.scope, is_met, argument)) {
    if (!memory_->is_allocated(id_, at, w.bytes, w.where)) [[unlikely]]
      return false;
    sequential_scheduler::predicate const asked(memory_->scheduler());
    could = memory_->machine_.could_load(id_, at, w.bytes, o, w.scope, is_met, argument);
  }
  if (!could)
    memory_->miss(id_, at, w.where);
  // A poll on behalf of an actor that waits changes nothing but the first time.
  if (memory_->effects_.is_asked() && (memory_->effects_.has_more() || memory_->may_run(*this)))
    memory_->effects_.tell(at, std::nullopt);
  return could;
}

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

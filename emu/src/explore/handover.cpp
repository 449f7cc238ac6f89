// SPDX-License-Identifier: Apache-2.0
// Who is ordered with whom by something else than memory.
#include "explored_memory.hpp"

#include <quarry/emu/compute_unit.hpp>
#include <quarry/emu/handover.hpp>

#include <cstdint>
#include <stdexcept>

namespace quarry::emu {
namespace {

/// Children there are a wavefront's, whose memory they use.
bool is_of_kernels(strand const& s) {
  return dynamic_cast<compute_unit const*>(&s) != nullptr;
}

} // namespace

explored_memory::actor_id explored_memory::id_of(actor& self) {
  cache_port const* const known = find_port(self);
  return known != nullptr ? known->id() : join(self).id();
}

explored_memory::edge explored_memory::signal(actor& self) {
  ++activity_;
  actor_id const id = id_of(self);
  machine_.synchronise(id, order::release, scope::system);
  effects_.tell(0, order::release);
  return races_.signal(id);
}

void explored_memory::receive_all(actor& self, std::span<edge const> from) {
  ++activity_;
  actor_id const id = id_of(self);
  end_polling(id);
  machine_.synchronise(id, order::acquire, scope::system);
  effects_.tell(0, order::acquire);
  for (edge const e : from)
    races_.receive(id, e);
}

void explored_memory::receive(actor& self, edge from) {
  receive_all(self, {&from, 1});
}

explored_memory::edge explored_memory::starting(actor& self) {
  host_writes_.take(id_of(self));
  end_polling(id_of(self));
  return signal(self);
}

explored_memory::edge explored_memory::before_start(strand const& s) {
  actor* const self = scheduler_.current();
  return self == nullptr || is_of_kernels(s) || find_port(*self) == nullptr ? nothing
                                                                            : starting(*self);
}

void explored_memory::after_start(edge e) {
  receive(*scheduler_.current(), e);
}

explored_memory::edge explored_memory::at_end() {
  actor& self = *scheduler_.current();
  if (find_port(self) == nullptr)
    return nothing;
  scheduler_.decision_point(self); // before its end makes its stores visible
  return signal(self);
}

void explored_memory::after_join(std::span<edge const> ends) {
  actor* const self = scheduler_.current();
  if (self == nullptr)
    return;
  receive_all(*self, ends);
  to_host();
}

// What they throw, until somebody hears of it

void explored_memory::has_thrown(actor const& who, std::exception_ptr const& what) {
  try {
    std::rethrow_exception(what);
  } catch (std::exception const&) {
    thrown_.add({.what = what, .who = who.name(), .is_child = true});
  } catch (...) {
    return; // it would end the exploration, where nobody has heard of it
  }
}

thrown_exceptions::entry const* explored_memory::first_unheard() const noexcept {
  // Who has started a child may be about to hear of it, where the execution is cut off.
  return thrown_.first_unheard(!scheduler_.is_out_of_decisions());
}

void explored_memory::forget_thrown() noexcept {
  thrown_.clear();
  cause_.reset();
}

void explored_memory::take_from_host(actor& self) {
  if (host_writes_
          .is_any()) // only then is it a release: of what an actor does by itself it is none
    host_writes_.take(join(self).id());
}

void explored_memory::to_host() {
  // What the host that runs has stored itself, it finds there, too.
  if (actor const* const self = scheduler_.current();
      self != nullptr && self->number < by_number_.size() && by_number_[self->number] != nullptr)
    machine_.perform_delayed(by_number_[self->number]->id());
  host_writes_.show();
}

namespace {

/// Calls f(memory, actor), for whoever runs in an execution that is explored.
template<class F>
void with_running_actor(F const& f) {
  explored_memory* const memory = explored_memory::running();
  if (memory == nullptr)
    return;
  if (memory->scheduler().is_asking())
    throw std::logic_error("a handover in the predicate of a wait: it would order whoever runs "
                           "meanwhile, and not who waits; take it behind the wait");
  if (actor* const self = memory->scheduler().current())
    f(*memory, *self);
}

} // namespace

void handover::give() {
  with_running_actor([this](explored_memory& m, actor& self) { edge_ = m.signal(self); });
}

void handover::take() const {
  if (edge_ == nothing)
    return;
  with_running_actor([this](explored_memory& m, actor& self) { m.receive(self, edge_); });
}

void take_from_host() {
  explored_memory* const memory = explored_memory::running();
  if (memory == nullptr || memory->scheduler().is_asking())
    return;
  if (actor* const self = memory->scheduler().current())
    memory->take_from_host(*self);
}

void bring_to_host() {
  if (explored_memory* const memory = explored_memory::running())
    memory->to_host();
}

void bring_own_to_host() {
  with_running_actor([](explored_memory& m, actor& self) {
    m.machine().synchronise(m.join(self).id(), order::release, scope::system);
    m.to_host();
  });
}

} // namespace quarry::emu

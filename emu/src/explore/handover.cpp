// SPDX-License-Identifier: Apache-2.0
// Who is ordered with whom by something else than memory.
#include <quarry/emu/compute_unit.hpp>
#include <quarry/emu/explored_memory.hpp>
#include <quarry/emu/handover.hpp>

namespace quarry::emu {
namespace {

/// Children there are a wavefront's, whose memory they use.
bool is_of_kernels(strand const& s) {
  return dynamic_cast<compute_unit const*>(&s) != nullptr;
}

} // namespace

explored_memory::actor_id explored_memory::id_of(actor& self) {
  if (port_of(self) == nullptr)
    if (cache_port const* const wave = find_port(self))
      return wave->id();
  return join(self).id();
}

explored_memory::edge explored_memory::signal(actor& self) {
  ++activity_;
  actor_id const id = id_of(self);
  machine_.fence(id, order::release, scope::system);
  tell(0, order::release);
  return races_.signal(id);
}

void explored_memory::receive(actor& self, edge from) {
  ++activity_;
  actor_id const id = id_of(self);
  end_polling(id);
  machine_.fence(id, order::acquire, scope::system);
  tell(0, order::acquire);
  races_.receive(id, from);
}

explored_memory::edge explored_memory::before_start(strand const& s) {
  actor* const self = scheduler_.current();
  return self == nullptr || is_of_kernels(s) || find_port(*self) == nullptr ? nothing
                                                                            : signal(*self);
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
  for (edge const e : ends)
    receive(*self, e);
  to_host();
}

void handover::give() {
  explored_memory* const memory = explored_memory::running();
  if (memory != nullptr && memory->scheduler().current() != nullptr)
    edge_ = memory->signal(*memory->scheduler().current());
}

void handover::take() const {
  if (edge_ == nothing)
    return;
  explored_memory* const memory = explored_memory::running();
  if (memory != nullptr && memory->scheduler().current() != nullptr)
    memory->receive(*memory->scheduler().current(), edge_);
}

} // namespace quarry::emu

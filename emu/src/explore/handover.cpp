// SPDX-License-Identifier: Apache-2.0
// Who is ordered with whom by something else than memory.
#include <quarry/emu/compute_unit.hpp>
#include <quarry/emu/explored_memory.hpp>
#include <quarry/emu/handover.hpp>

#include <algorithm>

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

explored_memory::edge explored_memory::starting(actor& self) {
  actor_id const id = id_of(self);
  machine_.fence(id, order::release, scope::system); // what it has stored itself is newer
  take_host_writes(id);
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
  ++activity_;
  actor_id const id = id_of(*self);
  end_polling(id);
  machine_.fence(id, order::acquire, scope::system);
  tell(0, order::acquire);
  for (edge const e : ends)
    races_.receive(id, e);
  to_host();
}

// What they throw, until somebody hears of it

void explored_memory::has_thrown(actor const& who, std::exception_ptr const& what) {
  try {
    std::rethrow_exception(what);
  } catch (std::exception const&) {
    thrown_.push_back({what, who.name(), true});
  } catch (...) {
    return; // it would end the exploration, where nobody has heard of it
  }
}

void explored_memory::world_has_thrown(actor const& who, std::exception_ptr const& what) {
  thrown_.push_back({what, who.name(), false});
}

void explored_memory::has_heard(std::exception_ptr const& what) {
  for (thrown& t : thrown_)
    t.is_heard = t.is_heard || t.what == what;
}

explored_memory::thrown const*
explored_memory::find_thrown(std::exception_ptr const& what) const noexcept {
  auto const i =
      std::find_if(thrown_.begin(), thrown_.end(), [&](thrown const& t) { return t.what == what; });
  return i == thrown_.end() ? nullptr : &*i;
}

explored_memory::thrown const* explored_memory::first_unheard() const noexcept {
  bool const is_cut = scheduler_.is_out_of_decisions(); // then whoever has started a child may come
  auto const i = std::find_if(thrown_.begin(), thrown_.end(), [is_cut](thrown const& t) {
    return !t.is_heard && !(t.is_child && is_cut);
  });
  return i == thrown_.end() ? nullptr : &*i;
}

void explored_memory::forget_thrown() noexcept {
  thrown_.clear();
  cause_.reset();
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

void bring_to_host() {
  if (explored_memory* const memory = explored_memory::running())
    memory->to_host();
}

void bring_own_to_host() {
  explored_memory* const memory = explored_memory::running();
  if (memory == nullptr || memory->scheduler().current() == nullptr)
    return;
  cache_port const& self = memory->join(*memory->scheduler().current());
  memory->machine().fence(self.id(), order::release, scope::system);
  memory->to_host();
}

} // namespace quarry::emu

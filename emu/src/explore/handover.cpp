// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/explored_memory.hpp>
#include <quarry/emu/handover.hpp>

namespace quarry::emu {

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

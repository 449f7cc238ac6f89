// SPDX-License-Identifier: Apache-2.0
#include "explore/explored_memory.hpp"

#include <quarry/emu/user_queue.hpp>
#include <quarry/misuse.hpp>

#include <exception>
#include <string>

namespace quarry::emu {

void queue_goes_first(std::string const& name) {
  std::string const what = name + " is destroyed before its packet processor";
  explored_memory* const memory = explored_memory::running();
  if (memory == nullptr)
    misuse(what);
  // Frames of an execution that is on its way out may go in any order.
  if (!memory->is_being_left() && std::uncaught_exceptions() == 0)
    memory->found({"misuse", "user queue", "misuse: " + what});
}

} // namespace quarry::emu

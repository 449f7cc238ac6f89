// SPDX-License-Identifier: Apache-2.0
#include "explore/explored_memory.hpp"

#include <quarry/emu/fault.hpp>

#include <fmt/core.h>

#include <utility>

namespace quarry::emu {

std::string_view to_string(fault::kind k) noexcept {
  switch (k) {
  case fault::kind::barrier_divergence:
    return "barrier divergence";
  case fault::kind::out_of_bounds:
    return "out of bounds";
  case fault::kind::lds_out_of_bounds:
    return "LDS out of bounds";
  case fault::kind::misaligned:
    return "misaligned access";
  case fault::kind::deadlock:
    return "deadlock";
  case fault::kind::not_resident:
    return "waiting for a group that is not resident";
  case fault::kind::stall:
    return "stall";
  case fault::kind::wrong_shape:
    return "wrong shape";
  case fault::kind::exception:
    return "exception";
  case fault::kind::misuse:
    return "misuse";
  case fault::kind::bad_packet:
    return "bad packet";
  }
  return "?";
}

kernel_stop::kernel_stop(fault::kind kind, std::string text, std::source_location at, int who)
    : what(kind), message(std::move(text)), where(at), lane(who) {
  if (explored_memory* const memory = explored_memory::running())
    memory->hear(*this);
}

void awaited_by_child(char const* what, std::source_location where) {
  throw kernel_stop{fault::kind::misuse,
                    fmt::format("a {} is awaited by a child (of when_all, or a nursery): the "
                                "wavefront or work-item awaits it itself",
                                what),
                    where};
}

} // namespace quarry::emu

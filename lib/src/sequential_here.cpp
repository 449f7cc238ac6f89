// SPDX-License-Identifier: Apache-2.0
// Decisions and effects of what is no operation of a core's: a mutex does not know who uses it.
#include "sequential_driving.hpp"

#include <quarry/scheduler.hpp>
#include <quarry/sequential_scheduler.hpp>
#include <quarry/strand.hpp>

namespace quarry {

void sequential_scheduler::tell_all_here() noexcept {
  if (driven_here != nullptr && driven_here->current_ != nullptr)
    driven_here->tell_all(*driven_here->current_);
}

/// Null: nobody runs here, or there is no choice who does. Not for frames that somebody destroys
/// whose actors will not go on.
actor* sequential_scheduler::choosing_here() noexcept {
  sequential_scheduler const* const s = driven_here;
  bool const has_choice = s != nullptr && s->options_.choices != nullptr && !s->is_asking();
  return has_choice && !strand::lets_go_here() ? s->current_ : nullptr;
}

void sequential_scheduler::decide_here() {
  if (actor* const self = choosing_here())
    driven_here->decision_point(*self);
}

void sequential_scheduler::before_asking_here() {
  if (actor* const self = choosing_here()) {
    driven_here->decision_point(*self);
    driven_here->tell_all(*self);
  }
}

void sequential_scheduler::before_giving_here() noexcept {
  actor* const self = choosing_here();
  if (self == nullptr)
    return;
  sequential_scheduler& its = *driven_here;
  try {
    its.decision_point(*self);
  } catch (abandoned const&) {
    its.has_not_thrown_ = self;
  }
}

} // namespace quarry

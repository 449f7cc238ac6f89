// SPDX-License-Identifier: Apache-2.0
#include <quarry/event.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <mutex>

namespace quarry {

void event::set() {
  sequential_scheduler::before_giving_here();
  wait_place* released = nullptr;
  {
    std::lock_guard const guard(queue_);
    is_set_ = true;
    released = queue_.take_all();
  }
  wait_queue::wake(released);
}

void event::reset() noexcept {
  sequential_scheduler::before_giving_here();
  // To a search: a wait, or a set(), before it is another matter than one after it. Among
  // themselves those need no order, so that they say nothing.
  sequential_scheduler::tell_all_here();
  std::lock_guard const guard(queue_);
  is_set_ = false;
}

bool event::is_set() {
  sequential_scheduler::before_asking_here();
  std::lock_guard const guard(queue_);
  return is_set_;
}

bool event::enlist(wait_place& place, actor& self, std::source_location where) {
  sequential_scheduler::decide_here();
  // Look and push under one lock: a set() comes before both or after both, and is not lost.
  std::lock_guard const guard(queue_);
  if (is_set_)
    return false;
  self.wait_for("event", where, this);
  queue_.push(place, self);
  return true;
}

} // namespace quarry

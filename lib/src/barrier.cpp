// SPDX-License-Identifier: Apache-2.0
#include <quarry/barrier.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <mutex>
#include <stdexcept>

namespace quarry {

barrier::barrier(std::size_t expected) : expected_(expected) {
  if (expected == 0)
    throw std::invalid_argument("barrier: 0 actors are expected, it must be at least one");
}

bool barrier::arrive(wait_place& place, actor& self, std::source_location where) {
  sequential_scheduler::decide_here();
  wait_place* released = nullptr;
  {
    // Count and push under one lock: the last arrival finds everybody else in the queue, and nobody
    // of the next round.
    std::lock_guard const guard(queue_);
    // To a search: it is all one in which order the first ones come, but not who is of this round.
    if (expected_ - arrived_ <= 2)
      sequential_scheduler::tell_all_here();
    if (++arrived_ != expected_) {
      self.wait_for("barrier", where, this);
      queue_.push(place, self);
      return true;
    }
    arrived_ = 0;
    released = queue_.take_all();
  }
  wait_queue::wake(released);
  return false;
}

} // namespace quarry

// SPDX-License-Identifier: Apache-2.0
#include <quarry/latch.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <fmt/core.h>

#include <mutex>
#include <stdexcept>

namespace quarry {

/// Under the lock. Those who are to be woken now.
wait_place* latch::lower(std::size_t by) {
  if (by >= count_) // to a search: until then it is all one who comes first, but not from then on
    sequential_scheduler::tell_all_here();
  if (by > count_)
    throw std::invalid_argument(
        fmt::format("latch: count_down by {}, but only {} are left", by, count_));
  count_ -= by;
  return count_ == 0 ? queue_.take_all() : nullptr;
}

void latch::count_down(std::size_t by) {
  sequential_scheduler::before_giving_here();
  wait_place* released = nullptr;
  {
    std::lock_guard const guard(queue_);
    released = lower(by);
  }
  wait_queue::wake(released);
}

std::size_t latch::count() {
  sequential_scheduler::before_asking_here();
  std::lock_guard const guard(queue_);
  return count_;
}

bool latch::enlist(wait_place& place, std::size_t arrivals, actor& self,
                   std::source_location where) {
  sequential_scheduler::decide_here();
  wait_place* released = nullptr;
  {
    // Count, look and push under one lock: the last count_down() comes before all or after all, and
    // who has arrived as the last one does not look again, when those who wait may have destroyed
    // the latch.
    std::lock_guard const guard(queue_);
    released = lower(arrivals);
    if (count_ != 0) {
      self.wait_for("latch", where, this);
      queue_.push(place, self);
      return true;
    }
  }
  wait_queue::wake(released);
  return false;
}

} // namespace quarry

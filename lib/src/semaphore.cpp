// SPDX-License-Identifier: Apache-2.0
#include <quarry/semaphore.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <fmt/core.h>

#include <limits>
#include <mutex>
#include <stdexcept>

namespace quarry {

bool semaphore::try_acquire() {
  sequential_scheduler::before_asking_here();
  std::lock_guard const guard(queue_);
  if (units_ == 0)
    return false;
  --units_;
  return true;
}

void semaphore::release(std::size_t units) {
  sequential_scheduler::before_giving_here();
  give(units);
}

void semaphore::give(std::size_t units) {
  wait_place* released = nullptr;
  {
    std::lock_guard const guard(queue_);
    if (units > std::numeric_limits<std::size_t>::max() - units_)
      throw std::overflow_error(fmt::format(
          "semaphore: {} units more than {} are more than it can count", units, units_));
    // A unit goes to a waiter without being free in between.
    units_ += units;
    released = queue_.grant(units_);
  }
  wait_queue::wake(released);
}

bool semaphore::enlist(wait_place& place, actor& self, std::source_location where) {
  self.before_taking();
  // Look and push under one lock: a release() comes before both or after both.
  std::lock_guard const guard(queue_);
  if (units_ != 0) {
    --units_;
    return false;
  }
  self.wait_for("semaphore", where, this);
  queue_.push(place, self);
  return true;
}

} // namespace quarry

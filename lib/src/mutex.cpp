// SPDX-License-Identifier: Apache-2.0
#include <quarry/mutex.hpp>
#include <quarry/sequential_scheduler.hpp>
#include <quarry/strand.hpp>

#include <mutex>

namespace quarry {

mutex::guard mutex::try_lock() {
  sequential_scheduler::before_asking_here();
  std::lock_guard const inside(queue_);
  if (std::exchange(is_held_, true))
    return {};
  return guard(*this);
}

bool mutex::enlist(wait_place& place, actor& self, std::source_location where) {
  self.before_taking();
  // Look and push under one lock: an unlock() comes before both or after both.
  std::lock_guard const inside(queue_);
  if (!std::exchange(is_held_, true)) {
    owner_.store(&self, std::memory_order_relaxed);
    return false;
  }
  self.wait_for("mutex", where, this, &owner_);
  queue_.push(place, self);
  return true;
}

void mutex::unlock() {
  sequential_scheduler::before_giving_here();
  give();
}

void mutex::give() {
  wait_place* next = nullptr;
  {
    // The mutex stays held on the way to the next owner: nobody can snatch it.
    std::lock_guard const inside(queue_);
    std::size_t one = 1;
    next = queue_.grant(one);
    is_held_ = next != nullptr;
    owner_.store(is_held_ ? &next->who() : nullptr, std::memory_order_relaxed);
  }
  wait_queue::wake(next);
}

} // namespace quarry

// SPDX-License-Identifier: Apache-2.0
#include <quarry/latch.hpp>

#include <fmt/core.h>

#include <mutex>
#include <stdexcept>

namespace quarry {

void latch::count_down(std::size_t by) {
  wait_place* released = nullptr;
  {
    std::lock_guard const guard(queue_);
    if (by > count_)
      throw std::invalid_argument(
          fmt::format("latch: count_down by {}, but only {} are left", by, count_));
    count_ -= by;
    if (count_ == 0)
      released = queue_.take_all();
  }
  wait_queue::wake(released);
}

std::size_t latch::count() noexcept {
  std::lock_guard const guard(queue_);
  return count_;
}

bool latch::enlist(wait_place& place, actor& self, std::source_location where) noexcept {
  // Look and push under one lock: the last count_down() comes before both or after both.
  std::lock_guard const guard(queue_);
  if (count_ == 0)
    return false;
  self.wait_for("latch", where, this);
  queue_.push(place, self);
  return true;
}

} // namespace quarry

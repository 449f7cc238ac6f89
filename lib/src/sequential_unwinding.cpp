// SPDX-License-Identifier: Apache-2.0
// How a sequential_scheduler lets go of actors that do not come to their ends.
#include "kept_for_good.hpp"

#include <quarry/sequential_scheduler.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace quarry {

/// It will not be resumed.
void sequential_scheduler::take_from_all_lists(actor& a) noexcept {
  withdraw(a);
  std::erase(polling_, &a);
  if (next_ == &a)
    next_ = nullptr;
  a.is_abandoned = true;
}

void sequential_scheduler::leave(actor& a) noexcept {
  take_from_all_lists(a);
  std::erase(waiting_in_run_until_, &a);
  if (a.fiber != nullptr && a.fiber->is_idle())
    fibers_.give_back(*std::exchange(a.fiber, nullptr));
}

void sequential_scheduler::abandon(actor& a) {
  if (is_left(a))
    return;
  take_from_all_lists(a);
  if (a.fiber == nullptr)
    return;
  if (!a.fiber->is_idle()) { // in mid-function: its decision point throws, its frames unwind
    actor* const before = std::exchange(current_, &a);
    std::uint64_t const others = std::exchange(unwinding_, 0);
    auto const* const other = std::exchange(has_not_thrown_, nullptr);
    a.state = actor_state::running;
    bool const is_gone = a.fiber->resume();
    current_ = before;
    unwinding_ = others;
    has_not_thrown_ = other;
    if (!is_gone) { // not even now; a.fiber says so to is_left()
      std::erase(waiting_in_run_until_, &a);
      if (options_.when_left)
        options_.when_left(a);
      return;
    }
  }
  fibers_.give_back(*std::exchange(a.fiber, nullptr));
}

void sequential_scheduler::count_unwinding(actor& self) {
  if (self.is_abandoned && current_ == &self && ++unwinding_ > options_.most_unwinding)
    self.fiber->suspend(); // for ever
}

void sequential_scheduler::keep(actor& of, task<>&& frames) {
  of.fiber = nullptr;
  keep_for_good(std::move(frames));
}

} // namespace quarry

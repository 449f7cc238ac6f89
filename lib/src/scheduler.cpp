// SPDX-License-Identifier: Apache-2.0
#include <quarry/scheduler.hpp>

#include <chrono>
#include <thread>

namespace quarry {
namespace {

using clock = std::chrono::steady_clock;

/// Holds a strand still for a report. A strand in an endless slice is given up after a second.
bool try_to_hold(std::atomic<bool>& is_drained) {
  auto const end = clock::now() + std::chrono::seconds(1);
  // Acquire: pairs with the release at the end of a turn, so that the actors' states are readable.
  while (is_drained.exchange(true, std::memory_order_acquire)) {
    if (clock::now() > end)
      return false;
    std::this_thread::yield();
  }
  return true;
}

} // namespace

executor::executor() {
  announce(debug_);
}

executor::~executor() {
  withdraw(debug_);
}

void executor::add(strand& s) {
  std::lock_guard const lock(strands_mutex_);
  debug_.strands.push_back(s.debug_);
}

void executor::remove(strand& s) noexcept {
  std::lock_guard const lock(strands_mutex_);
  debug_.strands.remove(s.debug_);
}

std::vector<executor::turn_under_way> executor::turns_under_way() {
  std::vector<turn_under_way> found;
  std::lock_guard const lock(strands_mutex_);
  for (debug_strand const* entry = debug_.strands.first; entry != nullptr; entry = entry->next) {
    // Acquire: pairs with the release in begin_or_end_turn(); what a turn that has ended came to is
    // visible.
    std::uint64_t const turn = entry->self->turns_.load(std::memory_order_acquire);
    if (turn % 2 != 0)
      found.push_back({entry->self, turn});
  }
  return found;
}

report executor::report_now() {
  report table;
  std::lock_guard const lock(strands_mutex_);
  bool const is_paused = pause_for_report();
  for (debug_strand const* entry = debug_.strands.first; entry != nullptr; entry = entry->next) {
    strand* const s = entry->self;
    if (!is_paused || !try_to_hold(s->is_drained_)) {
      table.busy.push_back(s->name());
      continue;
    }
    s->describe(table);
    s->is_drained_.store(false, std::memory_order_release);
  }
  if (is_paused)
    go_on_after_report();
  if (attachment_ != nullptr)
    for (report_row& row : table.rows)
      if (row.place.empty() && row.reason.on != nullptr)
        row.place = attachment_->name_of(row.reason.on);
  return table;
}

} // namespace quarry

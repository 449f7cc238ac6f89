// SPDX-License-Identifier: Apache-2.0
#include "explore/explored_memory.hpp"

#include <quarry/emu/command_processor.hpp>
#include <quarry/emu/launch_state.hpp>
#include <quarry/report.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace quarry::emu {

group_range launch_state::claim(std::uint32_t sharers, std::uint64_t most) {
  std::uint64_t first = next.load(std::memory_order_relaxed);
  for (;;) {
    if (first >= group_count)
      break;
    std::uint64_t const share =
        std::max<std::uint64_t>(1, (group_count - first) / (std::uint64_t{2} * sharers));
    std::uint64_t const count = std::min(share, most);
    // Relaxed: what a kernel reads was made visible by the post that made the compute unit run.
    if (next.compare_exchange_weak(first, first + count, std::memory_order_relaxed))
      return {first, first + count};
  }
  std::lock_guard const lock(mutex);
  if (returned.empty())
    return {};
  // One group of a returned range at a time: whoever gave it back had no room, others may.
  group_range& range = returned.back();
  group_range const taken{range.first, range.first + 1};
  if (++range.first == range.last)
    returned.pop_back();
  return taken;
}

void launch_state::give_back(group_range unplaced) {
  if (unplaced.is_empty())
    return;
  {
    std::lock_guard const lock(mutex); // fail() counts what was returned before it, and no more
    if (!has_failed()) {
      returned.push_back(unplaced);
      return;
    }
  }
  finish(unplaced.last - unplaced.first);
}

std::uint64_t launch_state::unclaimed_count() {
  std::lock_guard const lock(mutex);
  std::uint64_t count = group_count - std::min(group_count, next.load(std::memory_order_relaxed));
  for (group_range const r : returned)
    count += r.last - r.first;
  return count;
}

void launch_state::finish(std::uint64_t count) {
  // acq_rel: the last one has seen what all others did, and hands it to the waiter through `done`.
  if (unfinished.fetch_sub(count, std::memory_order_acq_rel) != count)
    return;
  executor& waiter = *scheduler; // the launch may be gone once `done` is seen
  command_processor* const starter = started_by;
  std::uint32_t const core = started_by_core;
  done.store(true, std::memory_order_release);
  if (starter != nullptr)
    starter->wake(core);
  waiter.notify();
}

void launch_state::fail(fault f) {
  std::uint64_t never_placed = 0;
  {
    std::lock_guard const lock(mutex);
    if (!first_fault)
      first_fault = std::move(f);
    std::uint64_t const first = next.exchange(group_count, std::memory_order_relaxed);
    never_placed = group_count - std::min(group_count, first);
    for (group_range const r : returned)
      never_placed += r.last - r.first;
    returned.clear();
    failed.store(true, std::memory_order_release);
  }
  if (scheduler != nullptr)
    if (auto* const memory = explored_memory::of(*scheduler))
      memory->found(*first_fault);
  if (never_placed != 0)
    finish(never_placed);
}

void launch_state::leaves_to(heir& h) {
  std::lock_guard const lock(mutex);
  if (std::find(heirs.begin(), heirs.end(), &h) == heirs.end())
    heirs.push_back(&h);
}

void launch_state::tell_heirs() {
  if (!heirs.empty())
    left_behind = std::make_shared<std::atomic<std::uint32_t>>(0);
  for (heir* const h : heirs)
    h->inherit(*this, left_behind);
}

extent launch_state::group_id(std::uint64_t linear) const noexcept {
  auto const row = linear / groups.x;
  return {static_cast<std::uint32_t>(linear % groups.x), static_cast<std::uint32_t>(row % groups.y),
          static_cast<std::uint32_t>(row / groups.y)};
}

std::string launch_state::describe() const {
  auto const text = fmt::format("launch of {}, {} group{} of {} work-items", kernel, group_count,
                                group_count == 1 ? "" : "s", config.work_items_per_group.volume());
  return config.where.line() == 0 ? text : text + ", at " + quarry::to_string(config.where);
}

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/debug_agents.hpp>
#include <quarry/emu/fault.hpp>
#include <quarry/emu/grid.hpp>
#include <quarry/emu/packet.hpp>
#include <quarry/scheduler.hpp>
#include <quarry/task.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quarry::emu {

class wave_slot;
class work_group;
class allocations;
class command_processor;
class signal;

/// A contiguous range of work-groups [first, last).
struct group_range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  [[nodiscard]] bool is_empty() const noexcept { return first == last; }
};

/// How a kernel is called; the kernel and its arguments are behind `bound`.
struct kernel_entry {
  /// For one wavefront. An empty task: it has ended already.
  task<> (*start)(void const* bound, wave_slot& wave) = nullptr;
  /// A plain wave kernel under `native`: calls it for all of the group's wavefronts that have not
  /// begun, one after the other. False if any has thrown, which is kept in its `error`. Null for
  /// other kernels.
  bool (*run_group)(void const* bound, work_group& group) = nullptr;
};

/// A kernel with its arguments, and what it is called in reports.
struct kernel_code {
  kernel_entry entry;
  std::string name;
  std::shared_ptr<void const> arguments; ///< and the kernel: what it is bound to
};

/// One launch while it runs: what to run, what is left to place, and how it ended.
///
/// Compute units claim ranges of groups, large ones first, and give back what they cannot place. Of
/// a grid that fits at once, whose groups may all wait for each other, a unit claims only those
/// that it has room for: a later launch could fill the places that they would need. Shared by
/// compute units, which run in parallel.
struct launch_state {
  launch_config config;
  extent groups; ///< the grid in groups
  std::uint64_t group_count = 0;
  std::uint32_t wavefront_size = 64;
  std::uint32_t waves_per_group = 0; ///< of a whole group
  bool fits_at_once = false;         ///< all its groups may be resident
  bool is_descending = false;        ///< the last ones start first
  kernel_entry entry;
  void const* bound = nullptr;
  std::shared_ptr<void const> keeps_alive; ///< owns `bound`, if nobody else does
  std::shared_ptr<signal> completion; ///< counted down at the end; null: goes through no packet
  std::string kernel;
  executor* scheduler = nullptr;
  command_processor* started_by = nullptr;   ///< null: a host has started it
  std::uint32_t started_by_core = 0;         ///< woken at the end
  allocations const* bounds = nullptr;       ///< null: global accesses are not checked
  fence_scope acquire = fence_scope::system; ///< of each wavefront, when it begins
  fence_scope release = fence_scope::system; ///< and when it ends

  /// Takes up to 1/(2 * sharers) of what is left, but no more than `most`, and at least one group.
  /// Empty when nothing is left.
  [[nodiscard]] group_range claim(std::uint32_t sharers, std::uint64_t most = ~std::uint64_t{0});
  void give_back(group_range unplaced);
  /// Groups that no compute unit has claimed.
  [[nodiscard]] std::uint64_t unclaimed_count();

  /// `count` groups have ended. The last one completes the launch.
  void finish(std::uint64_t count);
  /// Keeps the first fault; the groups that were not placed yet will not be.
  void fail(fault f);
  [[nodiscard]] bool has_failed() const noexcept { return failed.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_done() const noexcept { return done.load(std::memory_order_acquire); }

  /// Who hears that a kernel has ended, and sees to what it has left behind, operations that are
  /// under way say: its memory is not given back before.
  class heir {
  public:
    /// Counts in `left` what has still to be seen to, up now and down later.
    virtual void inherit(launch_state const& from,
                         std::shared_ptr<std::atomic<std::uint32_t>> const& left) = 0;

  protected:
    ~heir() = default;
  };
  /// From a kernel. Borrowed: it outlives the launch.
  void leaves_to(heir& h);
  /// After the end.
  void tell_heirs();
  [[nodiscard]] bool is_settled() const noexcept {
    return left_behind == nullptr || left_behind->load(std::memory_order_acquire) == 0;
  }

  /// The group that is claimed as number `at`.
  [[nodiscard]] std::uint64_t claimed_group(std::uint64_t at) const noexcept {
    return is_descending ? group_count - 1 - at : at;
  }
  [[nodiscard]] extent group_id(std::uint64_t linear) const noexcept;
  /// The group after it; without a division.
  [[nodiscard]] extent following(extent id) const noexcept {
    if (++id.x == groups.x) {
      id.x = 0;
      if (++id.y == groups.y) {
        id.y = 0;
        ++id.z;
      }
    }
    return id;
  }
  /// The grid has one dimension.
  [[nodiscard]] bool is_linear() const noexcept {
    return config.work_items.y == 1 && config.work_items.z == 1;
  }
  /// Work-items of one group: the full size, or what is left of the grid at an edge.
  [[nodiscard]] extent group_size(extent id) const noexcept {
    extent const full = config.work_items_per_group;
    extent const items = config.work_items;
    return {std::min(full.x, items.x - id.x * full.x), std::min(full.y, items.y - id.y * full.y),
            std::min(full.z, items.z - id.z * full.z)};
  }
  /// "launch of saxpy, 1024 groups of 256 work-items, at main.cpp:12"
  [[nodiscard]] std::string describe() const;

  std::atomic<std::uint64_t> unfinished{0};
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::atomic<bool> done{false};
  std::mutex mutex; ///< guards what follows
  std::vector<group_range> returned;
  std::optional<fault> first_fault;
  std::vector<heir*> heirs;
  /// By the heirs, of what has still to be seen to. Theirs, too: they may outlive the launch.
  std::shared_ptr<std::atomic<std::uint32_t>> left_behind;
  debug_dispatch debug;
};

} // namespace quarry::emu

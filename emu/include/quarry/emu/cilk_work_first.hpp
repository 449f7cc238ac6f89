// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/cilk_call.hpp>
#include <quarry/emu/wavefront.hpp>
#include <quarry/task.hpp>
#include <quarry/yield.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace quarry::emu {

/// Calls that a wavefront takes to their ends by itself: what they spawn goes to a stack of its own
/// and not through channels, depth first, a block of as many as it has lanes at a time.
///
/// Shape    a piece for each level and sync that is under way: 2 * W::size calls, or what one
///          spawns, with their results; gives way now and then
/// Errors   kernel_stop wrong_shape – the recursion is deeper than `levels`
/// Source   thesis §4.3.3, work-first; in blocks as in Ren et al., PLDI'15
template<cilk_function F, any_wavefront W>
class cilk_work_first {
  using parts = cilk_parts<F>;
  using result = typename parts::result;

public:
  cilk_work_first(W& wf, cilk_counts& counts, std::uint32_t levels) noexcept
      : wf_(wf), counts_(counts), levels_(levels) {}
  cilk_work_first(cilk_work_first const&) = delete;
  cilk_work_first& operator=(cilk_work_first const&) = delete;

  /// Calls of one level; `results[i]` will be what `calls[i]` returns (results[0], if functions
  /// have none).
  struct batch {
    F const* calls;
    result* results;
    std::uint32_t count;
  };
  task<> run(batch const& all, std::uint32_t level) { return run_part<0>(all, level); }

private:
  /// A call that waits for its children.
  struct parent {
    F function;
    result* into;
    std::uint32_t first; ///< child
    std::uint32_t count;
  };
  /// What a block spawns, until it is full.
  struct piece {
    using function = F;
    static constexpr std::uint32_t most_calls = cilk_piece<F, W::size>::most_calls;
    std::uint32_t calls = 0;
    std::uint32_t parents = 0;
    // Only what is counted has been written.
    unwritten_array<F, most_calls> call;
    unwritten_array<result, parts::has_result ? most_calls : 1> results;
    unwritten_array<parent, W::size> spawner;

    [[nodiscard]] bool is_full() const noexcept {
      return calls + parts::most_spawned > most_calls || parents == W::size;
    }
    [[nodiscard]] batch children() noexcept { return {&call[0], &results[0], calls}; }
  };
  /// The topmost piece of the stack, while this is there.
  class top {
  public:
    explicit top(cilk_work_first& of) : of_(of), here_(of.push()) {}
    ~top() { --of_.used_; }
    top(top const&) = delete;
    top& operator=(top const&) = delete;
    [[nodiscard]] piece& operator*() const noexcept { return here_; }

  private:
    cilk_work_first& of_;
    piece& here_;
  };
  [[nodiscard]] piece& push() {
    if (used_ == pieces_.size())
      pieces_.push_back(std::make_unique_for_overwrite<piece>());
    return *pieces_[used_++];
  }

  [[nodiscard]] static std::uint32_t slot(std::uint32_t call) noexcept {
    return parts::has_result ? call : 0;
  }

  /// Part 0 of calls, or of parents what comes after the sync of that number.
  template<std::uint32_t Part, class Source>
  task<> run_part(Source const from, std::uint32_t level) {
    top const mine(*this);
    piece& spawned = *mine;
    for (std::uint32_t next = 0; next != from.count;) {
      spawned.calls = spawned.parents = 0;
      next = run_block<Part>(from, next, spawned);
      if (++blocks_ % blocks_at_once == 0)
        co_await yield();
      if (spawned.calls == 0)
        continue;
      if (level + 1 == levels_) [[unlikely]]
        throw cilk_too_deep(levels_);
      task<> children = run_part<0>(spawned.children(), level + 1);
      co_await std::move(children);
      if constexpr (Part < parts::syncs)
        if (spawned.parents != 0) {
          task<> rest = run_part<Part + 1>(synced{spawned, spawned.parents}, level);
          co_await std::move(rest);
        }
    }
  }
  struct synced {
    piece& of;
    std::uint32_t count;
  };

  /// Runs from `next` on until what they spawn is a piece. Gives the first that is left.
  template<std::uint32_t Part>
  [[gnu::noinline]] std::uint32_t run_block(batch const& from, std::uint32_t next, piece& to) {
    lane_mask spawned, leaves;
    unwritten_array<F, W::size> in_lanes;
    auto const lanes = static_cast<std::uint32_t>(wf_.active().count());
    std::uint32_t count = 0;
    std::uint32_t const end = next + std::min(from.count - next, lanes);
    for (int lane = 0; next != end && !to.is_full(); ++next, ++lane) {
      F const& f = from.calls[next];
      if constexpr (has_leaves<F>)
        if (f.is_leaf()) {
          in_lanes[count++] = f;
          leaves.set(lane);
          continue;
        }
      result* const into = from.results + slot(next);
      if constexpr (parts::has_result)
        *into = {}; // should it return nothing
      (run_lane<Part>(f, into, 0, into, to) ? spawned : leaves).set(lane);
    }
    if constexpr (has_leaves<F>)
      if (count != 0)
        F::run_leaves(wf_, std::span<F const>(&in_lanes[0], count));
    if constexpr (W::memory_type::may_explore)
      counts_.add(spawned, leaves);
    return next;
  }
  template<std::uint32_t Part>
  [[gnu::noinline]] std::uint32_t run_block(synced const& from, std::uint32_t next, piece& to) {
    lane_mask spawned, leaves;
    for (int lane = 0; next != from.count && !to.is_full(); ++next, ++lane) {
      parent const& p = from.of.spawner[next];
      result* const results = &from.of.results[slot(p.first)];
      (run_lane<Part>(p.function, p.into, p.count, results, to) ? spawned : leaves).set(lane);
    }
    if constexpr (W::memory_type::may_explore)
      counts_.add(spawned, leaves);
    return next;
  }
  /// True if it has spawned.
  template<std::uint32_t Part>
  bool run_lane(F const& f, result* into, std::uint32_t children, result* results, piece& to) {
    std::uint32_t const first = to.calls;
    cilk_call call(wf_, to, into, children, results, std::bool_constant<(Part < parts::syncs)>{});
    if constexpr (Part == 0)
      f(call);
    else
      f.after_sync(call, sync_number<Part>{});
    if (call.spawned() == 0)
      return false;
    if (Part < parts::syncs && !call.has_finished())
      to.spawner[to.parents++] = {f, into, first, call.spawned()};
    return true;
  }

  static constexpr std::uint32_t blocks_at_once = 64;

  W& wf_;
  cilk_counts& counts_;
  std::uint32_t const levels_;
  std::uint32_t blocks_ = 0;
  std::size_t used_ = 0;
  std::vector<std::unique_ptr<piece>> pieces_;
};

} // namespace quarry::emu

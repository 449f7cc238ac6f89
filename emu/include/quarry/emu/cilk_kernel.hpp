// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/channel.hpp>
#include <quarry/emu/cilk_call.hpp>
#include <quarry/emu/cilk_scheduler.hpp>
#include <quarry/emu/cilk_work_first.hpp>
#include <quarry/emu/lane_mask.hpp>
#include <quarry/emu/wavefront.hpp>
#include <quarry/task.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace quarry::emu {

/// The channels that a level of the recursion deals with.
template<cilk_function F>
struct cilk_level {
  using parts = cilk_parts<F>;
  channel<typename parts::spawned>* spawned = nullptr;
  channel<typename parts::spawned>* deeper = nullptr; ///< null at the last level
  std::array<channel<typename parts::synced>*, std::max(1U, parts::syncs)> synced{};
  std::uint32_t number = 0;
  std::uint32_t levels = 1;      ///< that there are
  bool is_one_at_a_time = false; ///< each lane reserves for itself
  cilk_counts* counts = nullptr;

  /// Those that its kernels produce for: what draws a graph asks.
  void each_channel(auto const& f) const {
    if (deeper != nullptr)
      f(deeper);
    for (auto const* c : synced)
      if (c != nullptr)
        f(c);
  }
};

/// Runs one part of a function for the elements of a wavefront, a lane each: part 0 up to the first
/// sync, part s what comes after sync s. The lanes' calls are gathered, and a wavefront reserves
/// once for all of them.
///
/// A call that waits for its children is enqueued after them, and tallocated before: children may
/// return to it as soon as they are enqueued. Its own element is freed last: the channels of deeper
/// levels drain without it.
///
/// Source   thesis §4.3.2: spawn and sync as talloc and enq
template<cilk_function F, std::uint32_t Part>
struct cilk_kernel {
  using parts = cilk_parts<F>;
  static constexpr bool syncs_again = Part < parts::syncs;

  template<any_wavefront W>
  task<> operator()(W& wf, auto& elements, cilk_level<F>& level) const {
    if constexpr (Part == 0)
      if (elements.hint() == cilk_scheduler::to_their_ends) {
        task<> all = run_to_their_ends(wf, elements, level);
        co_return co_await std::move(all);
      }
    cilk_piece<F, W::size> piece;
    lane_masks ran;
    lane_mask left = wf.active();
    if constexpr (Part == 0 && has_leaves<F>)
      left = run_leaves(wf, elements, left, ran);
    while (left.any()) {
      left = run_lanes(wf, elements, level, piece, left, ran);
      if (piece.calls == 0)
        continue;
      auto& children = need_deeper(level);
      std::optional<channel_elements> waiting, mine;
      if constexpr (syncs_again)
        while (piece.syncs != 0 && !(waiting = level.synced[Part]->try_talloc(wf, piece.syncs))) {
          task<> room = level.synced[Part]->wait_for_room(wf, piece.syncs, sizeof(piece));
          co_await std::move(room);
        }
      while (!(mine = children.try_talloc(wf, piece.calls))) {
        task<> room = children.wait_for_room(wf, piece.calls, sizeof(piece));
        co_await std::move(room);
      }
      fill(wf, level, piece, waiting, *mine);
      std::uint64_t from = children.begin_enq(wf, *mine);
      co_await children.enq_turn(wf, from);
      children.end_enq(wf, from, piece.calls);
      if constexpr (syncs_again)
        if (piece.syncs != 0) {
          from = level.synced[Part]->begin_enq(wf, *waiting);
          co_await level.synced[Part]->enq_turn(wf, from);
          level.synced[Part]->end_enq(wf, from, piece.syncs);
        }
    }
    if constexpr (W::memory_type::may_explore)
      level.counts->add(ran.spawned, ran.leaves);
    elements.tfree();
  }

private:
  struct lane_masks {
    lane_mask spawned, leaves;
  };

  /// The wavefront keeps its calls to itself, with all that they spawn.
  template<class W>
  static task<> run_to_their_ends(W& wf, auto& elements, cilk_level<F>& level) {
    unwritten_array<F, W::size> calls;
    unwritten_array<typename parts::place, W::size> into;
    unwritten_array<typename parts::result, W::size> results;
    std::uint32_t count = 0;
    wf.active().for_each([&](int lane) {
      typename parts::spawned const self = wf.load(elements.at(lane));
      calls[count] = self.function;
      into[count++] = self.into;
    });
    elements.tfree();
    cilk_work_first<F, W> stack(wf, *level.counts, level.levels);
    task<> all = stack.run({&calls[0], &results[0], count}, level.number);
    co_await std::move(all);
    if constexpr (parts::has_result)
      for (std::uint32_t i = 0; i != count; ++i)
        wf.store(into[i], results[i]);
  }

  static auto& need_deeper(cilk_level<F>& level) {
    if (level.deeper == nullptr) [[unlikely]]
      throw cilk_too_deep(level.levels);
    return *level.deeper;
  }

  /// Runs the leaves side by side. Those left.
  template<class W, class Elements>
  [[gnu::noinline]] static lane_mask run_leaves(W& wf, Elements& elements, lane_mask among,
                                                lane_masks& ran) {
    static_assert(
        requires(std::span<F const> calls) { F::run_leaves(wf, calls); },
        "is_leaf() goes with static run_leaves(wf, std::span<F const>)");
    static_assert(!parts::has_result, "the calls that run_leaves() is given have no result");
    unwritten_array<F, W::size> leaves;
    std::size_t count = 0;
    lane_mask left;
    among.for_each([&](int lane) {
      F const f = wf.load(global(&elements.at(lane).get()->function));
      if (!f.is_leaf())
        return left.set(lane);
      leaves[count++] = f;
      if constexpr (W::memory_type::may_explore)
        ran.leaves.set(lane);
    });
    if (count != 0)
      F::run_leaves(wf, std::span<F const>(&leaves[0], count));
    return left;
  }

  /// Runs lanes until they have spawned as much as goes into the channels at once. Those left.
  template<class W, class Elements>
  [[gnu::noinline]] static lane_mask run_lanes(W& wf, Elements& elements, cilk_level<F>& level,
                                               cilk_piece<F, W::size>& piece, lane_mask left,
                                               lane_masks& ran) {
    std::uint32_t most_calls = piece.most_calls, most_parents = W::size;
    if (level.deeper != nullptr)
      most_calls = std::min(most_calls, level.deeper->most_at_once());
    if constexpr (syncs_again)
      most_parents = std::min(most_parents, level.synced[Part]->most_at_once());
    if (level.is_one_at_a_time)
      most_parents = 1;
    piece.calls = piece.parents = piece.syncs = 0;
    for (std::uint64_t rest = left.bits(); rest != 0; rest &= rest - 1) {
      if (piece.calls + parts::most_spawned > most_calls || piece.parents == most_parents)
        return lane_mask(rest);
      int const lane = std::countr_zero(rest);
      bool const has_spawned = run_lane(wf, elements.at(lane), piece);
      if constexpr (W::memory_type::may_explore)
        (has_spawned ? ran.spawned : ran.leaves).set(lane);
    }
    return {};
  }

  template<class W, class Element>
  static bool run_lane(W& wf, global<Element> at, cilk_piece<F, W::size>& piece) {
    typename parts::spawned self;
    std::uint32_t children = 0;
    typename parts::place results;
    if constexpr (Part == 0) {
      self = wf.load(at);
    } else {
      self = wf.load(global(&at.get()->call));
      children = wf.load(global(&at.get()->count));
      results = global(at.get()->results.data());
    }
    cilk_call call(wf, piece, self.into, children, results, std::bool_constant<syncs_again>{});
    if constexpr (Part == 0)
      self.function(call);
    else
      self.function.after_sync(call, sync_number<Part>{});
    if (call.spawned() == 0)
      return false;
    bool const syncs = syncs_again && !call.has_finished();
    piece.spawner[piece.parents++] = {self, call.spawned(), syncs};
    piece.syncs += syncs ? 1 : 0;
    return true;
  }

  /// Writes the parents that sync again, and all their children.
  template<class W>
  [[gnu::noinline]] static void
  fill(W& wf, cilk_level<F>& level, cilk_piece<F, W::size> const& piece,
       std::optional<channel_elements> const& waiting, channel_elements const& mine) {
    auto const children = level.deeper->row_of(mine);
    std::uint32_t call = 0;
    [[maybe_unused]] std::uint32_t sync = 0;
    for (std::uint32_t p = 0; p < piece.parents; ++p) {
      auto const parent = piece.spawner[p]; // a copy, which the stores do not change
      typename parts::place into;
      if constexpr (syncs_again)
        if (parent.syncs) {
          auto* const element = level.synced[Part]->at(*waiting, sync++).get();
          wf.store(global(&element->call), parent.call);
          wf.store(global(&element->count), parent.count);
          into = global(element->results.data());
        }
      for (std::uint32_t i = 0; i < parent.count; ++i, ++call)
        wf.store(children[call], {piece.call[call], parent.syncs ? into + i : into});
    }
  }
};

} // namespace quarry::emu

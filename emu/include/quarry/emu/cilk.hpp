// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/agent.hpp>
#include <quarry/emu/channel.hpp>
#include <quarry/emu/channel_graph.hpp>
#include <quarry/emu/cilk_call.hpp>
#include <quarry/emu/cilk_kernel.hpp>
#include <quarry/emu/cilk_scheduler.hpp>
#include <quarry/emu/fault.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace quarry::emu {

struct cilk_options {
  std::uint32_t depth = 32; ///< levels of recursion at most
  std::uint32_t width = 32768;
  std::uint32_t elements_per_done_count = 64;
  channel_reservation reservation = channel_reservation::per_wavefront;
  bool is_padded = false;
  when_full full = when_full::yield;
  traversal order = traversal::help_first;
  channel_orders orders = channel_orders::at(scope::agent);
};

/// A divide-and-conquer function on channels: a stack of channels for what is spawned and one for
/// what goes on after each sync, a channel a level of the recursion in each.
///
///     struct fib {
///       using result = std::uint32_t;
///       static constexpr std::uint32_t most_spawned = 2;
///       std::uint32_t n;
///
///       void operator()(auto& call) const { // Figure 4-6, up to the sync
///         if (n <= 2)
///           return call.returns(1);
///         call.spawn(fib{n - 1});
///         call.spawn(fib{n - 2});
///       }
///       void after_sync(auto& call, first_sync) const { call.returns(call[0] + call[1]); }
///     };
///     cilk<fib> program(gpu, {.depth = 24});
///     program.run(fib{24}).or_throw();
///     std::uint32_t const number = program.root_result();
///
/// Every call runs on a lane of its own; a wavefront reserves once for what its lanes spawn. A call
/// at level d spawns into level d + 1. What goes on after a sync is dispatched when nothing is left
/// in deeper levels: dependences are inferred from levels (levelization). A wavefront that finds a
/// channel full yields, and the deepest level is drained first, so that memory is bounded by the
/// channels' widths. Where the order is hybrid, wavefronts keep calls to themselves once there are
/// enough for all: then memory is bounded by those that are resident and the depth, too.
///
/// Shape    F a trivially copyable class, its arguments; at most 2^31 elements a channel
/// Source   thesis §4.3, Figures 4-6 to 4-10
template<class F, class Targets = all_targets>
class cilk {
  static_assert(cilk_function<F>);
  using parts = cilk_parts<F>;
  static constexpr std::uint32_t syncs = parts::syncs;

public:
  using result = typename parts::result;

  /// Errors   std::invalid_argument – no level or more than 4096; a width that cannot hold what one
  ///          call spawns; a width outside the limits
  cilk(basic_agent<Targets>& gpu, cilk_options const& o)
      : result_(gpu.template allocate<result>(1, "result of the root")),
        graph_(gpu, scheduler_of(gpu.core().shape(), o)) {
    if (o.depth == 0 || o.depth > 4096)
      throw std::invalid_argument("cilk: " + std::to_string(o.depth) +
                                  " levels of recursion; allowed are 1 to 4096");
    if (o.width < F::most_spawned + o.elements_per_done_count - 1)
      throw std::invalid_argument("cilk: channels of " + std::to_string(o.width) +
                                  " elements, with " + std::to_string(o.elements_per_done_count) +
                                  " a done count; a call spawns up to " +
                                  std::to_string(F::most_spawned));
    make_levels(o);
  }
  /// What its channels take at least.
  [[nodiscard]] static constexpr std::uint64_t channel_bytes(cilk_options const& o) noexcept {
    auto const element = [&](std::uint64_t bytes) {
      return (o.is_padded ? (bytes + 63) / 64 * 64 : bytes) + 2 * sizeof(std::uint32_t);
    };
    std::uint64_t level = element(sizeof(typename parts::spawned));
    if constexpr (syncs != 0)
      level += syncs * element(sizeof(typename parts::synced));
    return level * o.width * o.depth;
  }
  cilk(cilk const&) = delete;
  cilk& operator=(cilk const&) = delete;

  /// Calls the function from the host and waits for its result. May be called again, but not after
  /// an error: calls are left in the channels.
  ///
  /// Errors   a kernel's first fault; a deadlock or a stall; fault wrong_shape – the recursion is
  ///          deeper than there are levels
  outcome run(F const& root) {
    graph_.put(*levels_[0].spawned, {root, result_.global()});
    graph_.execute();
    return graph_.wait_for_done();
  }
  /// What the root has returned.
  [[nodiscard]] result const& root_result() const { return result_.host()[0]; }

  [[nodiscard]] flow_counts totals() const { return graph_.totals(); }
  /// As channel_graph's.
  void watch(std::function<void(flow_counts const&)> told) { graph_.watch(std::move(told)); }
  [[nodiscard]] channel_drawing const& drawing() const noexcept { return graph_.drawing(); }
  [[nodiscard]] cilk_counts const& counts() const noexcept { return counts_; }

private:
  /// Wavefronts a compute unit that are worth a dispatch while others run.
  static constexpr std::uint32_t waves_enough = 4;

  static cilk_scheduler scheduler_of(machine const& m, cilk_options const& o) noexcept {
    return {1 + syncs, o.order, m.compute_units * waves_enough * m.wavefront_size};
  }
  channel_options options(cilk_options const& o, std::string name) const {
    return {.width = o.width,
            .elements_per_done_count = o.elements_per_done_count,
            .reservation = o.reservation,
            .is_padded = o.is_padded,
            .full = o.full,
            .orders = o.orders,
            .name = std::move(name)};
  }
  void make_levels(cilk_options const& o) {
    levels_.resize(o.depth);
    for (std::uint32_t d = 0; d < o.depth; ++d) {
      std::string const level = " of level " + std::to_string(d);
      levels_[d].spawned =
          &graph_.template add_channel<typename parts::spawned>(options(o, "calls" + level));
      if constexpr (syncs != 0)
        for (std::uint32_t s = 0; s < syncs; ++s)
          levels_[d].synced[s] = &graph_.template add_channel<typename parts::synced>(
              options(o, "sync " + std::to_string(s + 1) + level));
      levels_[d].number = d;
      levels_[d].levels = o.depth;
      levels_[d].is_one_at_a_time = o.reservation == channel_reservation::per_work_item;
      levels_[d].counts = &counts_;
      if (d != 0)
        levels_[d - 1].deeper = levels_[d].spawned;
    }
    for (auto& l : levels_)
      connect(l, std::make_integer_sequence<std::uint32_t, syncs>{});
  }
  template<std::uint32_t... S>
  void connect(cilk_level<F>& l, std::integer_sequence<std::uint32_t, S...>) {
    graph_.connect(*l.spawned, cilk_kernel<F, 0>{}, std::ref(l));
    (graph_.connect(*l.synced[S], cilk_kernel<F, S + 1>{}, std::ref(l)), ...);
  }

  buffer<result> result_;
  cilk_counts counts_;
  std::vector<cilk_level<F>> levels_;
  channel_graph<Targets> graph_; ///< last, so first to go: its kernels use the others
};

} // namespace quarry::emu

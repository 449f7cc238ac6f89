// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/agent_core.hpp>
#include <quarry/emu/channel.hpp>
#include <quarry/emu/command_processor.hpp>
#include <quarry/emu/core.hpp>
#include <quarry/emu/fault.hpp>
#include <quarry/emu/handover.hpp>
#include <quarry/emu/launch_state.hpp>
#include <quarry/emu/running_launches.hpp>
#include <quarry/task.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry::emu {

/// What a scheduler of channels looks at: one channel and what consumes it.
struct channel_state {
  std::string_view name;
  std::uint32_t ready;   ///< elements that wait for their consumer
  std::uint32_t running; ///< dispatches of it that have not ended
  std::uint32_t waiting; ///< producers for room in it, those that have yielded, too
  std::uint32_t wavefront_size;
};

/// What is to be dispatched: so many of a channel's ready elements, at most.
struct channel_choice {
  channel_choice(std::size_t c, std::uint32_t n = ~0U, // NOLINT(*-explicit-*)
                 std::uint32_t h = 0) noexcept
      : channel(c), most(n), hint(h) {}
  std::size_t channel;
  std::uint32_t most;
  std::uint32_t hint; ///< what the kernel is told, as dispatched::hint()
};

/// Decides which channel is dispatched next, if any (thesis §4.1.1: predicates; §4.5.2). The
/// channels' states were looked at in their order.
/// `is_idle`: no kernel of the graph runs, so that nothing more will turn up by itself.
using channel_scheduler = std::function<std::optional<channel_choice>(
    std::span<channel_state const> channels, bool is_idle)>;

/// The last channel that fills a wavefront; otherwise the last one that has anything, if somebody
/// waits for its room or nothing runs.
/// Later channels are deeper in a recursion, so this drains before it expands.
[[nodiscard]] std::optional<std::size_t> drain_last(std::span<channel_state const> channels,
                                                    bool is_idle);

/// The same, but nothing is dispatched beside what runs unless somebody waits for room: all that
/// has become ready goes at once.
///
/// Measured: small dispatches wake workers for little, and the naive Fibonacci takes five times as
/// long. For kernels whose wavefronts take about as long as each other, and that wait for no other
/// kernel of the graph but by waiting for room.
[[nodiscard]] std::optional<std::size_t> drain_in_bulk(std::span<channel_state const> channels,
                                                       bool is_idle);

/// A channel with its consumer, whatever they are.
class channel_node {
public:
  channel_node() = default;
  channel_node(channel_node const&) = delete;
  channel_node& operator=(channel_node const&) = delete;
  virtual ~channel_node() = default;
  [[nodiscard]] virtual std::string const& name() const = 0;
  [[nodiscard]] virtual void const* consumed() const = 0; ///< the channel's address
  [[nodiscard]] virtual bool has_consumer() const = 0;
  /// What there is to be seen of the channel.
  struct sight {
    std::uint32_t ready;   ///< elements
    std::uint32_t waiting; ///< producers for room, those that have not yielded
    bool can_reclaim;
  };
  [[nodiscard]] virtual sight look(basic_core<native_memory>& self) = 0;
  [[nodiscard]] virtual sight look(basic_core<interleaving_memory>& self) = 0;
  virtual void reclaim(basic_core<native_memory>& self) = 0;
  virtual void reclaim(basic_core<interleaving_memory>& self) = 0;
  [[nodiscard]] virtual std::uint32_t room(basic_core<native_memory>& self) = 0;
  [[nodiscard]] virtual std::uint32_t room(basic_core<interleaving_memory>& self) = 0;
  [[nodiscard]] virtual channel_counts const& counts() const = 0;
  [[nodiscard]] virtual channel_usage usage() const = 0;
  [[nodiscard]] virtual std::uint32_t width() const = 0;
  /// Elements that were allocated and not enqueued, when no kernel runs.
  [[nodiscard]] virtual std::uint64_t not_enqueued(bool is_explored) const = 0;
  /// Takes `count` elements: what runs their consumer over them, prepared.
  [[nodiscard]] virtual std::unique_ptr<launch_state> take(std::uint32_t count,
                                                           std::uint32_t hint) = 0;
};

/// What an aggregator and its channels have done, since they were made.
struct flow_counts {
  std::uint64_t dispatches = 0;
  std::uint64_t wavefronts = 0; ///< dispatched
  std::uint64_t elements = 0;   ///< dispatched, an active lane each
  std::uint64_t yields = 0;
  std::uint64_t yielded_bytes = 0; ///< that were saved for them, and restored
  std::uint64_t most_parked = 0;   ///< wavefronts without a slot at the same time
  channel_counts channels;         ///< counted under deterministic schedulers

  /// Of the lanes that were dispatched, how many had an element.
  [[nodiscard]] double active_lanes(std::uint32_t wavefront_size) const noexcept {
    return wavefronts == 0
               ? 0
               : static_cast<double>(elements) / static_cast<double>(wavefronts) / wavefront_size;
  }
};

/// The aggregator: a service of the command processor that watches channels, dispatches what is
/// ready as coarse tasks, gives space back, and restarts wavefronts that have yielded for want of
/// space.
///
/// Source   thesis §4.1, Figure 4-1; §4.4, Figure 4-11
class channel_aggregator {
public:
  channel_aggregator(agent_core& gpu, channel_scheduler scheduler)
      : agent_(gpu), scheduler_(std::move(scheduler)), running_(gpu) {}
  channel_aggregator(channel_aggregator const&) = delete;
  channel_aggregator& operator=(channel_aggregator const&) = delete;

  /// Before it is served.
  void add(std::unique_ptr<channel_node> n);
  /// Where wavefronts leave their restart contexts; made with these orders when it is first asked
  /// for, before it is served.
  [[nodiscard]] channel<restart_context>& restarts(channel_orders const& orders);
  [[nodiscard]] std::span<std::unique_ptr<channel_node> const> nodes() const { return nodes_; }

  /// True when no element is left and no kernel runs, or after a fault. From any thread.
  [[nodiscard]] bool is_done() const noexcept { return is_done_.load(std::memory_order_acquire); }
  /// Elements have been put from outside: it is not done.
  void begin() {
    begins_.give();
    is_done_.store(false, std::memory_order_release);
  }
  /// On a host: waits until it is done.
  ///
  /// Errors   a kernel's first fault; deadlock or stall – nobody can go on
  [[nodiscard]] outcome wait();
  /// Told after each dispatch, by the aggregator. Before it is served.
  void watch(std::function<void(flow_counts const&)> told) { watch_ = std::move(told); }
  /// When it is done.
  [[nodiscard]] flow_counts totals() const;

  // A service

  template<class Core>
  task<bool> poll(Core& self);
  template<class Core>
  [[nodiscard]] bool has_work(Core& self);
  [[nodiscard]] bool may_sleep() const noexcept { return is_done(); }
  [[nodiscard]] static std::string name() { return "aggregator"; }

private:
  /// What the aggregator itself knows of a channel.
  struct node_state {
    std::uint32_t running = 0;           ///< dispatches
    std::uint32_t waiting = 0;           ///< producers that have not yielded, as it has looked last
    std::deque<restart_context> blocked; ///< wavefronts that have yielded, the oldest first
  };

  template<class Core>
  bool look(Core& self, std::size_t node);
  [[nodiscard]] std::optional<channel_choice> pick();
  bool dispatch();
  [[nodiscard]] bool is_nothing_ready() const;
  template<class Core>
  bool take_restarts(Core& self);
  [[nodiscard]] bool is_sane(restart_context const& c) const noexcept;
  void fail(fault f);
  void blame(fault f);
  void check_enqueued();
  template<class Core>
  bool restart_blocked(Core& self);
  template<class Core>
  [[nodiscard]] bool can_restart(Core& self);
  bool finish_dispatches();
  void start(channel_choice next);
  [[nodiscard]] std::string narrow_channels() const;

  agent_core& agent_;
  channel_scheduler scheduler_;
  std::vector<std::unique_ptr<channel_node>> nodes_;
  std::vector<node_state> at_; ///< by node
  std::unique_ptr<channel<restart_context>> restarts_;
  running_launches<std::size_t> running_; ///< with their nodes
  std::vector<channel_state> states_;     ///< by node, as it has looked last
  std::uint64_t blocked_ = 0;             ///< in all nodes
  flow_counts counts_;
  std::function<void(flow_counts const&)> watch_;
  std::optional<fault> first_fault_;
  std::atomic<bool> is_done_{true};
  handover begins_; ///< what is_done_ orders, for `explore`
  handover ends_;   ///< the same, back
};

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/agent_core.hpp>
#include <quarry/net/gravel_endpoint.hpp>
#include <quarry/net/gravel_message.hpp>
#include <quarry/net/gravel_style.hpp>
#include <quarry/net/pe.hpp>
#include <quarry/net/transport_port.hpp>
#include <quarry/result.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace quarry::net::gravel {

/// What went over the network from one node, and what it applied.
struct statistics {
  std::uint64_t operations = 0;    ///< of lanes, that left through an aggregator
  std::uint64_t applied = 0;       ///< operations of any node, done on this one
  std::uint64_t frames = 0;        ///< network messages with operations, those to itself included
  std::uint64_t frame_bytes = 0;   ///< their size
  std::uint64_t remote_frames = 0; ///< those to other nodes
  std::uint64_t wire_bytes = 0;    ///< all that went to other nodes, headers and control included
  /// Leader-level synchronisations of kernels: packages, or with SIMT-direct reservations in
  /// per-node buffers, which are counted under deterministic schedulers only.
  std::uint64_t reservations = 0;

  friend statistics operator+(statistics a, statistics const& b) noexcept {
    return {a.operations + b.operations,
            a.applied + b.applied,
            a.frames + b.frames,
            a.frame_bytes + b.frame_bytes,
            a.remote_frames + b.remote_frames,
            a.wire_bytes + b.wire_bytes,
            a.reservations + b.reservations};
  }
  /// What has come since `b`.
  friend statistics operator-(statistics a, statistics const& b) noexcept {
    return {a.operations - b.operations,
            a.applied - b.applied,
            a.frames - b.frames,
            a.frame_bytes - b.frame_bytes,
            a.remote_frames - b.remote_frames,
            a.wire_bytes - b.wire_bytes,
            a.reservations - b.reservations};
  }
};

/// Of one node.
inline constexpr std::uint32_t most_aggregators = 16;

/// One node's part in Gravel: the three-stage pipeline of thesis A.1. Work-groups put packages into
/// a queue; aggregators repack them into per-node buffers; a network interface sends those,
/// receives others' and applies them, serially, so that operations are atomic.
///
/// Aggregators and network interface are actors on strands of their own; under `native` they run on
/// the pool and in every waiting thread, under a deterministic scheduler they take their turns. The
/// thread that calls quiet(), barrier() and the like runs actors while it waits.
///
/// Errors   net_errc::peer_lost, timeout, bad_frame, outside_heap, … at every call that waits, once
///          the job has failed; the first error is kept
/// Source   thesis §5.2, §5.4, A.1
class gravel_node {
public:
  struct options {
    std::string_view style = aggregated::name;
    std::size_t buffer_bytes = 64 * 1024; ///< a per-node buffer (thesis Table 5-2)
    std::size_t buffers_per_node = 3;     ///< of each aggregator
    /// Each on a strand of its own, with per-node buffers of its own (thesis A.1.2). With several,
    /// messages of one work-item to one node may be applied in another order. One for simt_direct.
    std::uint32_t aggregators = 1; ///< 1 … most_aggregators
    /// A buffer that is not full leaves then; 0 … 24 hours.
    std::chrono::microseconds flush_after{125};
    std::uint32_t queue_slots = 64;       ///< packages in flight; a power of two
    std::uint32_t package_columns = 1024; ///< work-items of the largest work-group
    /// For every wait for another node; none: the job's, as the transport says.
    std::optional<std::chrono::milliseconds> timeout{};
    direct_orders direct{}; ///< of the style simt_direct
  };

  /// `heap`: this node's symmetric heap, whose words the operations of all nodes may touch; as
  /// large as everybody's. It and `agent` outlive the node. Kernels may touch it: the node exposes
  /// it to them.
  ///
  /// Errors   std::invalid_argument – an unknown style, sizes that hold no message, more nodes or
  ///          words than remote_word names, a heap of which something is exposed already
  gravel_node(emu::agent_core& agent, std::unique_ptr<transport_port> transport,
              std::span<std::uint64_t> heap, options const& o);
  gravel_node(gravel_node const&) = delete;
  gravel_node& operator=(gravel_node const&) = delete;
  /// Ends the actors; without finish() the peers see this node as lost.
  ~gravel_node();

  [[nodiscard]] pe self() const noexcept;
  [[nodiscard]] std::uint32_t pe_count() const noexcept;

  /// For kernels: pass std::ref(node.device()).
  [[nodiscard]] endpoint& device() noexcept;

  /// What an active message with the returned number does: handler(word, value), serially on the
  /// network interface. All nodes add the same handlers in the same order, before the first
  /// barrier, which compares how many they are (net_errc::mismatched_job). It must not wait, and
  /// calls no node: quiet() and collectives throw std::logic_error there. If it throws, the job has
  /// failed.
  std::uint32_t add_handler(std::function<void(std::uint64_t& word, std::uint64_t value)> handler);

  // One host thread at a time. Collectives – barrier(), all_gather(), all_sum() and finish() – are
  // called by all nodes in the same order: where one is in another, the job fails with
  // net_errc::mismatched_collective. After finish() all say net_errc::already_finished, and what
  // kernels send ends them.

  /// Waits until every operation of this node's finished kernels has been applied at its target.
  [[nodiscard]] result<void> quiet();
  /// quiet() on every node: afterwards everybody's operations are applied everywhere.
  [[nodiscard]] result<void> barrier();
  /// Everybody's bytes, in the order of the nodes; at most 4 KiB a node. Not a barrier for
  /// operations.
  [[nodiscard]] result<std::vector<std::vector<std::byte>>>
  all_gather(std::span<std::byte const> mine);
  /// The sum of everybody's value.
  ///
  /// Errors   mismatched_collective – a node's value has another size
  template<class T>
  [[nodiscard]] result<T> all_sum(T mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    auto const all = gather_alike(std::as_bytes(std::span(&mine, 1)));
    if (!all)
      return all.error();
    T sum{};
    for (auto const& bytes : *all) {
      T v;
      std::memcpy(&v, bytes.data(), sizeof v);
      sum += v;
    }
    return sum;
  }

  /// Leaves the job in order: barrier(), then goodbye. Kernels that still send have a fault.
  [[nodiscard]] result<void> finish();

  /// Since the start. Exact after quiet().
  [[nodiscard]] statistics counts() const;
  /// How many operations have left so far; from any thread.
  [[nodiscard]] std::uint64_t operations() const noexcept;
  /// Bytes of queues and buffers, without the heap.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

private:
  /// all_gather() of as many bytes from each.
  [[nodiscard]] result<std::vector<std::vector<std::byte>>>
  gather_alike(std::span<std::byte const> mine);

  class pipeline;
  template<emu::memory_model M, style S>
  class pipeline_of;
  std::unique_ptr<pipeline> pipeline_;
};

} // namespace quarry::net::gravel

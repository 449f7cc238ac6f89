// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu.hpp>
#include <quarry/net/comp_net/context.hpp>

#include <cstdint>
#include <programs/group_elements.hpp>

namespace quarry::allreduce {

/// Consecutive elements.
struct range {
  std::uint32_t first;
  std::uint32_t count;
  /// The i-th of n parts that differ by one element at most.
  [[nodiscard]] constexpr range part(std::uint32_t i, std::uint32_t n) const noexcept {
    auto const edge = [&](std::uint64_t k) { return static_cast<std::uint32_t>(count * k / n); };
    return {first + edge(i), edge(i + 1) - edge(i)};
  }
};

/// A vector that is summed over all nodes by several rings at once: ring i is work-group i of every
/// node and has the i-th part of the vector, which it cuts into a segment a node.
///
/// In step s of the first half node p sends segment p - s to node p + 1, which adds its own; so
/// segment x is summed from node x on, and whole at node x - 1. In the second half the sums go
/// round. A segment goes through the same place of `staging` in one step only, and nobody ends a
/// sum before its `staging` has been read: rings need no barrier, nor do two sums.
///
/// Shape    rings × nodes <= elements
/// Source   ComP-Net §5.4
struct rings {
  std::uint32_t node_count;
  std::uint32_t ring_count;
  std::uint32_t element_count;
  emu::global<float> data;            ///< symmetric: the node's elements, then the sums
  emu::global<float> staging;         ///< symmetric, as many: what the node before has sent
  emu::global<std::uint64_t> signals; ///< symmetric, steps() a ring: sums that have come so far

  [[nodiscard]] constexpr std::uint32_t steps() const noexcept { return 2 * (node_count - 1); }
  /// Is the step in the half in which elements are added?
  [[nodiscard]] constexpr bool adds(std::uint32_t step) const noexcept {
    return step < node_count - 1;
  }
  [[nodiscard]] constexpr range segment(std::uint32_t ring, std::uint32_t index) const noexcept {
    return range{0, element_count}.part(ring, ring_count).part(index % node_count, node_count);
  }
  /// What `node` sends in a step; it receives what the node before it sends.
  [[nodiscard]] constexpr range sent(std::uint32_t ring, std::uint32_t node,
                                     std::uint32_t step) const noexcept {
    return segment(ring, node + 2 * node_count - step);
  }
  [[nodiscard]] constexpr range received(std::uint32_t ring, std::uint32_t node,
                                         std::uint32_t step) const noexcept {
    return sent(ring, node + node_count - 1, step);
  }
  /// Where the next node wants what is sent in a step.
  [[nodiscard]] emu::global<float> destination(std::uint32_t step, range r) const noexcept {
    return (adds(step) ? staging : data) + r.first;
  }
  [[nodiscard]] emu::global<std::uint64_t> signal(std::uint32_t ring,
                                                  std::uint32_t step) const noexcept {
    return signals + std::uint64_t{ring} * steps() + step;
  }
};

/// data += staging, by a work-group.
template<class W>
void add(W& wf, rings const& r, range part) {
  command::for_group_elements(wf, part.count, [&](std::uint32_t at) {
    auto const to = r.data + part.first + at + wf.local_id();
    auto const mine = wf.load(to);
    wf.store(to, mine + wf.load(r.staging + part.first + at + wf.local_id()));
  });
}

/// The `number`th sum (from 1 on) over these rings, within one kernel.
struct ring_wave {
  task<> operator()(emu::any_wavefront auto& wf, rings r, std::uint64_t number,
                    net::comp_net::device& net) const {
    auto made = net::comp_net::context::init(wf, net);
    net::comp_net::context ctx = co_await std::move(made);
    auto const ring = static_cast<std::uint32_t>(wf.linear_group_id());
    std::uint32_t const self = net.self().id;
    net::pe const next{(self + 1) % net.pe_count()};
    for (std::uint32_t step = 0; step < r.steps(); ++step) {
      range const out = r.sent(ring, self, step);
      range const in = r.received(ring, self, step);
      auto sent = ctx.put_signal(wf, r.destination(step, out), r.data + out.first, out.count,
                                 r.signal(ring, step), number, net::shmem::signal_op::set, next);
      co_await std::move(sent);
      auto came =
          ctx.wait_until(wf, r.signal(ring, step), net::shmem::comparison::greater_equal, number);
      co_await std::move(came);
      if (r.adds(step))
        add(wf, r, in);
    }
    auto ended = ctx.destroy(wf);
    co_await std::move(ended);
  }
};

/// What the rings of a node add in a step, between exchanges of the host.
struct add_wave {
  void operator()(emu::any_wavefront auto& wf, rings r, std::uint32_t self,
                  std::uint32_t step) const {
    add(wf, r, r.received(static_cast<std::uint32_t>(wf.linear_group_id()), self, step));
  }
};

} // namespace quarry::allreduce

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel.hpp"

#include <quarry/emu/buffer.hpp>
#include <quarry/net/shmem/vocabulary.hpp>
#include <quarry/result.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace quarry::jacobi {

/// The host's part where kernels do not communicate: it exchanges edges between sweeps, which are
/// kernels, or, without a GPU, its threads' work.
///
/// `Node` is command::comp_net_node, or one whose execution is explored.
template<class Node>
class host_relaxation {
public:
  /// With kernels of work-groups of that size.
  host_relaxation(Node& node, grid const& g, std::uint32_t group_size)
      : node_(node), g_(g), group_size_(group_size),
        changes_(node.gpu.template allocate<double>(g.shape.strips_per_node, "changes")) {}

  result<void> run() {
    std::uint32_t done = 0;
    for (double change = 2 * g_.shape.tolerance;
         done < g_.shape.most_sweeps && change > g_.shape.tolerance;) {
      ++done;
      auto swept = node_.threads.run([&](std::uint32_t thread) {
        sweep_all(done - 1, thread);
        return exchange(done, thread);
      });
      if (!swept)
        return swept;
      if (g_.shape.is_checked(done))
        if (auto const agreed = agree(change); !agreed)
          return agreed;
    }
    auto const& self = node_.memory(0);
    for (std::uint32_t strip = 0; strip < g_.shape.strips_per_node; ++strip)
      self.store(g_.sweeps + strip, done);
    return {};
  }

private:
  /// The strips of one of the node's threads; with a GPU a kernel takes all of them.
  template<class F>
  void for_strips(std::uint32_t thread, F const& f) {
    for (std::uint32_t s = thread; s < g_.shape.strips_per_node; s += node_.threads.count())
      f(s);
  }
  void sweep_all(std::uint64_t done, std::uint32_t thread) {
    if (node_.uses_gpu())
      return node_.gpu
          .run({.work_groups = g_.shape.strips_per_node, .work_items_per_group = group_size_},
               sweep_wave{}, g_, done, changes_.global())
          .or_throw();
    auto const& self = node_.memory(thread);
    std::size_t const width = g_.shape.row_cells();
    for_strips(thread, [&](std::uint32_t strip) {
      double worst = 0;
      for (std::uint32_t y = 1; y <= g_.shape.rows; ++y) {
        auto const old = g_.row(strip, done, y);
        auto const next = g_.row(strip, done + 1, y);
        for (std::size_t x = 1; x <= g_.shape.columns; ++x) {
          double const value = relaxed(self.load(old + x - width), self.load(old + x + width),
                                       self.load(old + x - 1), self.load(old + x + 1));
          self.store(next + x, value);
          worst = std::max(worst, std::abs(value - self.load(old + x)));
        }
      }
      self.store(changes_.global() + strip, worst);
    });
  }
  result<void> exchange(std::uint64_t done, std::uint32_t thread) {
    result<void> outcome;
    for_strips(thread, [&](std::uint32_t strip) {
      for (side const to : {side::above, side::below})
        if (halo const h = halo_of(g_, node_.id, strip, to, done); outcome && h.is_there)
          outcome = node_.host().default_context().put_signal(
              h.to.get(), std::span<double const>(h.from.get(), g_.shape.row_cells()),
              h.signal.get(), done, net::shmem::signal_op::set, h.target);
    });
    for_strips(thread, [&](std::uint32_t strip) {
      for (side const from : {side::above, side::below})
        if (outcome && halo_of(g_, node_.id, strip, from, done).is_there)
          outcome = node_.host().wait_until(g_.edge(strip, from, done).get(),
                                            net::shmem::comparison::greater_equal, done);
    });
    return outcome;
  }
  /// Makes `change` everybody's largest one.
  result<void> agree(double& change) {
    auto const& self = node_.memory(0);
    change = 0;
    for (std::uint32_t strip = 0; strip < g_.shape.strips_per_node; ++strip)
      change = std::max(change, self.load(changes_.global() + strip));
    auto const mine = g_.changes; // whose table nobody else uses here
    self.store(mine, change);
    if (auto const reduced =
            node_.host().world().reduce(net::shmem::reduction::maximum, mine.get(), mine.get(), 1);
        !reduced)
      return reduced;
    change = self.load(mine);
    return {};
  }

  Node& node_;
  grid g_;
  std::uint32_t group_size_;
  emu::buffer<double> changes_;
};

} // namespace quarry::jacobi

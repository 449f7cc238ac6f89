// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel.hpp"

#include <quarry/net/shmem/vocabulary.hpp>
#include <quarry/result.hpp>

#include <cstdint>
#include <span>

namespace quarry::allreduce {

/// A sum where kernels do not communicate: the host takes the rings round; between its exchanges
/// kernels add, or, without a GPU, its threads.
///
/// `Node` is command::comp_net_node, or one whose execution is explored.
template<class Node>
class host_rings {
public:
  /// The `number`th sum, from 1 on, with kernels of work-groups of that size.
  host_rings(Node& node, rings const& r, std::uint64_t number, std::uint32_t group_size)
      : node_(node), rings_(r), number_(number), group_size_(group_size) {}

  /// Every thread takes its rings round; between kernels one thread takes all of them.
  result<void> sum() {
    return node_.threads.run([this](std::uint32_t thread) -> result<void> {
      for (std::uint32_t step = 0; step < rings_.steps(); ++step) {
        if (auto const exchanged = exchange(step, thread); !exchanged)
          return exchanged;
        if (rings_.adds(step))
          add(step, thread);
      }
      return {};
    });
  }

private:
  result<void> exchange(std::uint32_t step, std::uint32_t thread) {
    net::pe const next{(node_.id + 1) % node_.count};
    std::uint32_t const threads = node_.threads.count();
    for (std::uint32_t ring = thread; ring < rings_.ring_count; ring += threads) {
      range const out = rings_.sent(ring, node_.id, step);
      auto const sent = node_.host().default_context().put_signal(
          rings_.destination(step, out).get(),
          std::span<float const>(rings_.data.get() + out.first, out.count),
          rings_.signal(ring, step).get(), number_, net::shmem::signal_op::set, next);
      if (!sent)
        return sent;
    }
    for (std::uint32_t ring = thread; ring < rings_.ring_count; ring += threads) {
      auto const came = node_.host().wait_until(rings_.signal(ring, step).get(),
                                                net::shmem::comparison::greater_equal, number_);
      if (!came)
        return came;
    }
    return {};
  }

  void add(std::uint32_t step, std::uint32_t thread) {
    if (node_.uses_gpu())
      return node_.gpu
          .run({.work_groups = rings_.ring_count, .work_items_per_group = group_size_}, add_wave{},
               rings_, node_.id, step)
          .or_throw();
    auto const& self = node_.memory(thread);
    for (std::uint32_t ring = thread; ring < rings_.ring_count; ring += node_.threads.count()) {
      range const in = rings_.received(ring, node_.id, step);
      auto const to = rings_.data + in.first;
      auto const from = rings_.staging + in.first;
      for (std::uint32_t i = 0; i < in.count; ++i)
        self.store(to + i, self.load(to + i) + self.load(from + i));
    }
  }

  Node& node_;
  rings rings_;
  std::uint64_t number_;
  std::uint32_t group_size_;
};

} // namespace quarry::allreduce

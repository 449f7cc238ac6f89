// SPDX-License-Identifier: Apache-2.0
#include "all_reducer.hpp"

#include <algorithm>
#include <functional>

namespace quarry::allreduce {
namespace {

constexpr std::uint32_t group_size = 256;

} // namespace

std::size_t all_reducer::heap_bytes(std::uint32_t node_count, std::uint32_t element_count,
                                    std::uint32_t ring_count) {
  return 2 * sizeof(float) * std::size_t{element_count} +
         sizeof(std::uint64_t) * 2 * std::size_t{ring_count} * node_count;
}

result<all_reducer> all_reducer::make(command::comp_net_node& node, std::uint32_t element_count,
                                      std::uint32_t ring_count) {
  rings r{node.count, ring_count, element_count, {}, {}, {}};
  auto const data = node.host().malloc<float>(element_count);
  if (!data)
    return data.error();
  auto const staging = node.host().malloc<float>(element_count);
  if (!staging)
    return staging.error();
  // One more than there are steps: a node alone has none.
  auto const signals = node.host().malloc<std::uint64_t>(std::size_t{ring_count} * (r.steps() + 1));
  if (!signals)
    return signals.error();
  std::ranges::fill(*signals, 0);
  r.data = emu::global<float>(data->data());
  r.staging = emu::global<float>(staging->data());
  r.signals = emu::global<std::uint64_t>(signals->data());
  if (auto const all_here = node.host().barrier_all(); !all_here)
    return all_here.error();
  return all_reducer(node, r);
}

result<void> all_reducer::sum() {
  ++number_;
  if (!node_->has_device_calls())
    return sum_by_host();
  node_->gpu
      .run(command::comp_net_node::groups(rings_.ring_count, group_size), ring_wave{}, rings_,
           number_, std::ref(node_->net.device()))
      .or_throw();
  return {};
}

/// Every thread takes its rings round; between kernels one thread takes all of them.
result<void> all_reducer::sum_by_host() {
  return node_->threads.run([this](std::uint32_t thread) -> result<void> {
    for (std::uint32_t step = 0; step < rings_.steps(); ++step) {
      if (auto const exchanged = exchange(step, thread); !exchanged)
        return exchanged;
      if (rings_.adds(step))
        add(step, thread);
    }
    return {};
  });
}

result<void> all_reducer::exchange(std::uint32_t step, std::uint32_t thread) {
  net::pe const next{(node_->id + 1) % node_->count};
  std::uint32_t const threads = node_->threads.count();
  for (std::uint32_t ring = thread; ring < rings_.ring_count; ring += threads) {
    range const out = rings_.sent(ring, node_->id, step);
    auto const sent = node_->host().default_context().put_signal(
        rings_.destination(step, out).get(),
        std::span<float const>(rings_.data.get() + out.first, out.count),
        rings_.signal(ring, step).get(), number_, net::shmem::signal_op::set, next);
    if (!sent)
      return sent;
  }
  for (std::uint32_t ring = thread; ring < rings_.ring_count; ring += threads) {
    auto const came = node_->host().wait_until(rings_.signal(ring, step).get(),
                                               net::shmem::comparison::greater_equal, number_);
    if (!came)
      return came;
  }
  return {};
}

void all_reducer::add(std::uint32_t step, std::uint32_t thread) {
  if (node_->uses_gpu())
    return node_->gpu
        .run({.work_groups = rings_.ring_count, .work_items_per_group = group_size}, add_wave{},
             rings_, node_->id, step)
        .or_throw();
  for (std::uint32_t ring = thread; ring < rings_.ring_count; ring += node_->threads.count()) {
    range const in = rings_.received(ring, node_->id, step);
    float* const to = rings_.data.get() + in.first;
    float const* const from = rings_.staging.get() + in.first;
    for (std::uint32_t i = 0; i < in.count; ++i)
      to[i] += from[i];
  }
}

} // namespace quarry::allreduce

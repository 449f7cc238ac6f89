// SPDX-License-Identifier: Apache-2.0
#include "trainer.hpp"

#include <algorithm>
#include <chrono>

namespace quarry::sgd {
namespace {

using clock = std::chrono::steady_clock;

} // namespace

trainer::trainer(command::comp_net_node& node, training const& t, std::uint32_t groups,
                 allreduce::all_reducer sums)
    : node_(&node), training_(t), groups_(groups),
      mine_(allreduce::range{0, t.batch}.part(node.id, node.count)), sums_(sums),
      learnt_(first_parameters(t.seed)), gradients_(node.threads.count()) {
  if (!node.uses_gpu())
    return;
  weights_.emplace(node.gpu.allocate<float>(parameter_count, "weights"));
  partials_.emplace(node.gpu.allocate<float>(
      std::size_t{device_model::waves(groups)} * parameter_count, "partial gradients"));
  samples_.emplace(node.gpu.allocate<float>(std::size_t{3} * t.sample_count, "samples"));
  std::ranges::copy(learnt_, weights_->host().begin());
  auto const values = samples_->host();
  for (std::uint32_t i = 0; i < t.sample_count; ++i) {
    sample const s = make_sample(t.seed, i);
    values[i] = s.x;
    values[t.sample_count + i] = s.y;
    values[2 * t.sample_count + i] = s.label;
  }
  emu::global<float const> const first = samples_->global();
  model_ = {.weights = weights_->global(),
            .gradient = emu::global<float>(sums_.data().data()),
            .partials = partials_->global(),
            .x = first,
            .y = first + t.sample_count,
            .label = first + 2 * t.sample_count,
            .sample_count = t.sample_count};
}

result<trainer> trainer::make(command::comp_net_node& node, training const& t,
                              std::uint32_t groups) {
  auto sums = allreduce::all_reducer::make(node, parameter_count, groups);
  if (!sums)
    return sums.error();
  return trainer(node, t, groups, *sums);
}

result<void> trainer::run() {
  for (std::uint32_t step = 0; step < training_.steps; ++step) {
    add_gradient(step);
    auto const begin = clock::now();
    if (auto const done = sums_.sum(); !done)
      return done;
    sum_seconds_ += std::chrono::duration<double>(clock::now() - begin).count();
    descend();
  }
  return {};
}

void trainer::add_gradient(std::uint32_t step) {
  if (!node_->uses_gpu())
    return add_gradient_by_host(step);
  auto const first = static_cast<std::uint32_t>(
      (std::uint64_t{step} * training_.batch + mine_.first) % training_.sample_count);
  node_->gpu
      .run({.work_groups = groups_, .work_items_per_group = group_size}, gradient_wave{}, model_,
           first, mine_.count)
      .or_throw();
  node_->gpu
      .run({.work_groups = 1, .work_items_per_group = group_size}, gather_wave{}, model_, groups_)
      .or_throw();
}

void trainer::add_gradient_by_host(std::uint32_t step) {
  node_->threads.run([&](std::uint32_t t) {
    parameters& gradient = gradients_[t];
    gradient.fill(0);
    allreduce::range const part = mine_.part(t, node_->threads.count());
    for (std::uint32_t i = part.first; i < part.first + part.count; ++i)
      network(learnt_).add_gradient(training_.at(step, i), gradient);
  });
  std::ranges::fill(sums_.data(), 0.0F);
  for (parameters const& one : gradients_)
    for (std::uint32_t i = 0; i < parameter_count; ++i)
      sums_.data()[i] += one[i];
}

void trainer::descend() {
  if (!node_->uses_gpu())
    return training_.descend(learnt_, sums_.data());
  float const rate = training_.rate / static_cast<float>(training_.batch);
  node_->gpu
      .run({.work_groups = 1, .work_items_per_group = group_size}, descend_wave{}, model_, rate)
      .or_throw();
}

parameters trainer::learnt() const {
  parameters all = learnt_;
  if (weights_)
    std::ranges::copy(weights_->host(), all.begin());
  return all;
}

} // namespace quarry::sgd

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "network.hpp"

#include <quarry/emu.hpp>

#include <allreduce/kernel.hpp>
#include <cstdint>
#include <programs/group_elements.hpp>

namespace quarry::sgd {

inline constexpr std::uint32_t group_size = 256;

/// What a node's kernels learn with, and from. All but `gradient` is device memory.
struct device_model {
  emu::global<float> weights;  ///< parameter_count
  emu::global<float> gradient; ///< as many: summed over the node, then over all nodes
  emu::global<float> partials; ///< as many for each wavefront of a launch
  emu::global<float const> x;  ///< the samples
  emu::global<float const> y;
  emu::global<float const> label;
  std::uint32_t sample_count;

  /// The most wavefronts of so many groups.
  [[nodiscard]] static constexpr std::uint32_t waves(std::uint32_t groups) noexcept {
    return groups * (group_size / 32);
  }
};

/// Forward and backward: every work-group has a part of the node's `count` samples of a step, each
/// lane one of them at a time; every wavefront sums up a gradient of its own. Sample 0 of the step
/// is `first`.
struct gradient_wave {
  template<emu::any_wavefront W>
  void operator()(W& wf, device_model m, std::uint32_t first, std::uint32_t count) const {
    using numbers = typename W::template lanes<float>;
    parameters weights, sums{};
    for (std::uint32_t i = 0; i < parameter_count; ++i)
      weights[i] = wf.load(m.weights + i);
    auto const group = static_cast<std::uint32_t>(wf.linear_group_id());
    allreduce::range const mine = allreduce::range{0, count}.part(group, wf.group_count().x);
    command::for_group_elements(wf, mine.count, [&](std::uint32_t at) {
      auto const number = wf.local_id().to_lanes() + static_cast<std::int32_t>(mine.first + at);
      auto const i =
          (number + static_cast<std::int32_t>(first)) % static_cast<std::int32_t>(m.sample_count);
      samples<numbers> const s{wf.load(m.x + i), wf.load(m.y + i), wf.load(m.label + i)};
      network(weights).backward(s, [&](std::uint32_t k, numbers const& part) {
        sums[k] += wf.reduce(part, emu::plus{});
      });
    });
    auto const to = m.partials + std::uint64_t{group * wf.waves_in_group() + wf.index_in_group()} *
                                     parameter_count;
    for (std::uint32_t i = 0; i < parameter_count; ++i)
      wf.store(to + i, sums[i]);
  }
};

/// The gradient of the node: of all wavefronts of `groups`, in their order. One work-group.
struct gather_wave {
  template<emu::any_wavefront W>
  void operator()(W& wf, device_model m, std::uint32_t groups) const {
    std::uint32_t const waves = groups * (group_size / W::size);
    command::for_group_elements(wf, parameter_count, [&](std::uint32_t at) {
      typename W::template lanes<float> sum(0.0F);
      for (std::uint32_t w = 0; w < waves; ++w)
        sum = sum + wf.load(m.partials + std::uint64_t{w} * parameter_count + at + wf.local_id());
      wf.store(m.gradient + at + wf.local_id(), sum);
    });
  }
};

/// A step of length `rate` down everybody's gradient. One work-group.
struct descend_wave {
  void operator()(emu::any_wavefront auto& wf, device_model m, float rate) const {
    command::for_group_elements(wf, parameter_count, [&](std::uint32_t at) {
      auto const weight = wf.load(m.weights + at + wf.local_id());
      wf.store(m.weights + at + wf.local_id(),
               weight - wf.load(m.gradient + at + wf.local_id()) * rate);
    });
  }
};

} // namespace quarry::sgd

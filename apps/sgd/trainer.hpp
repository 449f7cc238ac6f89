// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel.hpp"
#include "network.hpp"

#include <quarry/emu/buffer.hpp>
#include <quarry/result.hpp>

#include <allreduce/all_reducer.hpp>
#include <cstdint>
#include <optional>
#include <programs/comp_net_cluster.hpp>
#include <vector>

namespace quarry::sgd {

/// Trains the network on one node, each step with its part of the batch, together with all others.
/// Forward, backward and the step down are kernels; in configuration cpu plain threads do it.
class trainer {
public:
  /// Of the symmetric heap: allreduce::all_reducer::heap_bytes(…, parameter_count, groups).
  [[nodiscard]] static result<trainer> make(command::comp_net_node& node, training const& t,
                                            std::uint32_t groups);

  /// All steps.
  [[nodiscard]] result<void> run();
  [[nodiscard]] parameters learnt() const;
  /// Of the time, what was spent in allreduce.
  [[nodiscard]] double sum_seconds() const noexcept { return sum_seconds_; }

private:
  trainer(command::comp_net_node& node, training const& t, std::uint32_t groups,
          allreduce::all_reducer sums);
  void add_gradient(std::uint32_t step);
  void add_gradient_by_host(std::uint32_t step);
  void descend();

  command::comp_net_node* node_;
  training training_;
  std::uint32_t groups_;
  allreduce::range mine_; ///< of every batch
  allreduce::all_reducer sums_;
  double sum_seconds_ = 0;
  // With a GPU
  std::optional<emu::buffer<float>> weights_, partials_, samples_;
  device_model model_{};
  // Without
  parameters learnt_;
  std::vector<parameters> gradients_; ///< one a thread
};

} // namespace quarry::sgd

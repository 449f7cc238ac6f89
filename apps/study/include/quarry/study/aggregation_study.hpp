// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/study/finding.hpp>

#include <cstdint>
#include <functional>

namespace quarry::study {

struct aggregation_request {
  std::uint64_t updates = std::uint64_t{1} << 25; ///< of all nodes
  std::uint32_t log2_entries = 22;                ///< of the whole table
  std::uint32_t most_nodes = 64;                  ///< 2, 4, … up to here; a power of two
  std::uint32_t repetitions = 3;
  /// Called when a step is done, of which there are steps().
  std::function<void()> step_done = [] {};

  [[nodiscard]] std::uint32_t steps() const noexcept;
};

/// SIMT-direct and indirect aggregation of GUPS on clusters of different sizes, projected by one
/// node to which all that it sends comes back.
///
/// Errors   std::runtime_error – a kernel or the network failed, or a wrong sum
/// Source   thesis §3.2.3, Figures 3-8 and 3-9
[[nodiscard]] finding study_aggregation(aggregation_request const& r);

} // namespace quarry::study

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "network.hpp"

#include <cstdint>

namespace quarry::sgd {

/// What one process alone learns.
[[nodiscard]] inline parameters reference(training const& t) {
  parameters p = first_parameters(t.seed);
  for (std::uint32_t step = 0; step < t.steps; ++step) {
    parameters gradient{};
    for (std::uint32_t i = 0; i < t.batch; ++i)
      network(p).add_gradient(t.at(step, i), gradient);
    t.descend(p, gradient);
  }
  return p;
}

} // namespace quarry::sgd

// SPDX-License-Identifier: Apache-2.0
#include <quarry/random_bits.hpp>
#include <quarry/strategy.hpp>
#include <quarry/swarm.hpp>

namespace quarry {

static_assert(strategy<swarm>);

void swarm::begin(std::uint64_t seed) {
  random_bits bits(random_bits::mixed(seed));
  actor_choices_ = 0;
  is_pct_ = bits.below(2) == 0;
  choice_rates const rates = drawn_rates(bits);
  if (is_pct_) {
    unsigned const depth = 1 + bits.below(greatest_depth);
    pct_.use({.depth = depth, .rates = rates});
    pct_.begin(bits());
  } else {
    walk_.use(rates);
    walk_.begin(bits());
  }
}

std::string swarm::describe() const {
  return "swarm: " + (is_pct_ ? pct_.describe() : walk_.describe());
}

} // namespace quarry

// SPDX-License-Identifier: Apache-2.0
#include <quarry/pct.hpp>
#include <quarry/strategy.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace quarry {

static_assert(strategy<pct>);

namespace {

constexpr std::uint32_t never = ~std::uint32_t{0};

} // namespace

void pct::use(options o) {
  if (o.depth == 0 || o.patience == 0)
    throw std::invalid_argument(fmt::format("pct: a depth of {} and a patience of {}, both must be "
                                            "at least 1",
                                            o.depth, o.patience));
  if (o.rates)
    walk_.use(*o.rates);
  options_ = o;
}

void pct::begin(std::uint64_t seed) {
  random_bits bits(random_bits::mixed(seed));
  key_ = bits();
  length_ = likely_length(bits);
  changes_.clear();
  for (unsigned i = 1; i < options_.depth; ++i)
    changes_.push_back({.step = bits.below(length_), .level = i});
  std::sort(changes_.begin(), changes_.end(), [](change const& a, change const& b) {
    return a.step != b.step ? a.step > b.step : a.level < b.level;
  });
  next_change_ = changes_.empty() ? never : changes_.back().step;
  if (!options_.rates)
    walk_.use(drawn_rates(bits));
  walk_.begin(bits());
  levels_.clear();
  chosen_.clear();
  seen_.clear();
  step_ = 0;
  last_ = 0;
}

std::uint32_t pct::likely_length(random_bits& bits) const noexcept {
  std::uint32_t const drawn = bits.below(2 * static_cast<std::uint32_t>(lengths_.size()));
  std::size_t const known = std::min(known_lengths_, lengths_.size());
  if (known == 0)
    return first_length;
  // Too small a k never comes to the end of an execution, too large a one wastes change points.
  return drawn < lengths_.size() ? lengths_[drawn % known]
                                 : *std::max_element(lengths_.begin(), lengths_.end());
}

std::string pct::describe() const {
  return fmt::format("pct: depth {}, length {}, {}", options_.depth, length_,
                     to_string(walk_.rates()));
}

void pct::learn(std::uint32_t length) noexcept {
  if (length == 0)
    return; // nobody to choose: nothing to know
  lengths_[known_lengths_ % lengths_.size()] = length;
  ++known_lengths_;
}

void pct::on_yield(std::uint32_t actor) {
  meet(actor);
  put_last(actor);
}

void pct::meet(std::uint32_t actor) {
  for (std::size_t a = levels_.size(); a <= actor; ++a) {
    levels_.push_back((priority{1} << 32) + static_cast<priority>(random_bits::at(key_, a) >> 2));
    chosen_.push_back(0);
  }
}

void pct::set_level(std::uint32_t actor, priority level) {
  levels_[actor] = level;
  chosen_[actor] = 0;
  seen_.clear();
}

unsigned pct::highest_after_changes(std::span<std::uint32_t const> ready, unsigned best) {
  for (; step_ == next_change_; best = highest(ready)) {
    set_level(ready[best], changes_.back().level);
    changes_.pop_back();
    next_change_ = changes_.empty() ? never : changes_.back().step;
  }
  return best;
}

} // namespace quarry

// SPDX-License-Identifier: Apache-2.0
#include <quarry/random_walk.hpp>
#include <quarry/strategy.hpp>

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace quarry {

static_assert(strategy<random_walk>);

choice_rates drawn_rates(random_bits& bits) noexcept {
  static constexpr unsigned percent[] = {2, 10, 30, 50, 80};
  choice_rates r{.leave_percent = percent[bits.below(5)],
                 .stale_percent = percent[bits.below(5)],
                 .write_back_percent = percent[bits.below(5)]};
  switch (bits.below(8)) {
  case 0:
    r.stale_percent = 0;
    break;
  case 1:
    r.stale_percent = 98;
    r.stale_age = choice_rates::age::oldest;
    break;
  default:
    break;
  }
  if (bits.below(4) == 0)
    r.write_back_percent = 0;
  return r;
}

std::string to_string(choice_rates const& r) {
  return fmt::format("leaves {} %, stale {} %{}, written back {} %, reversed {} %", r.leave_percent,
                     r.stale_percent, r.stale_age == choice_rates::age::oldest ? " (oldest)" : "",
                     r.write_back_percent, r.reverse_percent);
}

void random_walk::begin(std::uint64_t seed) noexcept {
  bits_ = random_bits(random_bits::mixed(seed));
  last_ = nobody;
}

void random_walk::use(choice_rates rates) {
  std::pair<choice_kind, unsigned> const percents[] = {
      {choice_kind::actor, rates.leave_percent},
      {choice_kind::value, rates.stale_percent},
      {choice_kind::write_back, rates.write_back_percent},
      {choice_kind::message, rates.leave_percent},
      {choice_kind::lane_order, rates.reverse_percent},
      {choice_kind::group_order, rates.reverse_percent},
  };
  static_assert(std::size(percents) == choice_kind_count);
  for (auto const& [kind, percent] : percents) {
    if (percent > 100)
      throw std::invalid_argument(
          fmt::format("a rate of choices is {} %, it must be at most 100 %", percent));
    odds_[static_cast<std::size_t>(kind)] = (std::uint64_t{percent} << 32) / 100;
  }
  rates_ = rates;
}

} // namespace quarry

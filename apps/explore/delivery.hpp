// SPDX-License-Identifier: Apache-2.0
// What comes through a queue in a world that is explored.
#pragma once

#include <quarry/emu/explore.hpp>

#include <cstdint>
#include <vector>

namespace quarry::exploration {

/// Two words that belong together.
struct parcel {
  std::uint32_t number;
  std::uint32_t copy;
  static parcel of(std::uint32_t n) { return {n, ~n}; }
  [[nodiscard]] bool is_whole() const { return copy == ~number; }
};

/// Elements come once, whole, and in order if they should.
class delivery {
public:
  delivery(world& w, std::uint32_t count, bool in_order)
      : world_(w), seen_(count), in_order_(in_order) {}
  void take(parcel p) {
    world_.check(p.is_whole(), "an element is torn, or was read before it was written");
    world_.check(p.number < seen_.size(), "an element that nobody sent");
    if (p.number >= seen_.size())
      return;
    world_.check(++seen_[p.number] == 1, "an element came twice");
    world_.check(!in_order_ || p.number == next_++, "an element came out of order");
  }
  void end() {
    for (int const n : seen_)
      world_.check(n == 1, "an element was lost");
  }

private:
  world& world_;
  std::vector<int> seen_;
  std::uint32_t next_ = 0;
  bool in_order_;
};

} // namespace quarry::exploration

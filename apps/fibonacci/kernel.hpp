// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/cilk.hpp>

#include <cstdint>

namespace quarry::fibonacci {

/// Fibonacci as one writes it in Cilk.
///
/// Source   thesis Figure 4-6
struct call {
  using result = std::uint64_t;
  static constexpr std::uint32_t most_spawned = 2;

  std::uint32_t n;

  void operator()(auto& self) const {
    if (n <= 2)
      return self.returns(1);
    self.spawn(call{n - 1});
    self.spawn(call{n - 2});
  }
  void after_sync(auto& self, emu::first_sync) const { self.returns(self[0] + self[1]); }

  /// Levels of the recursion.
  [[nodiscard]] static std::uint32_t depth(std::uint32_t n) noexcept { return n <= 2 ? 1 : n - 1; }
};

} // namespace quarry::fibonacci

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace quarry::sort {

/// The calling thread's own memory.
struct host_memory {
  [[nodiscard]] static std::uint32_t load(std::uint32_t const* at) noexcept { return *at; }
  static void store(std::uint32_t* at, std::uint32_t value) noexcept { *at = value; }
};

/// Two sorted runs of `first` values from `a` and `second` from `b`, as one from `to`: from both
/// ends at the same time, so that one load need not wait for the other one's comparison, and
/// without a branch that depends on a value. Everybody's base case: kernels' and hosts'.
template<class Memory, class From, class To>
void merge_runs(Memory& memory, From a, std::uint32_t first, From b, std::uint32_t second, To to) {
  std::uint32_t const count = first + second;
  std::uint32_t i = 0, j = 0, k = 0;                          // taken from the front
  std::uint32_t i_end = first, j_end = second, k_end = count; // left by the back
  auto const take_smaller = [&] {
    std::uint32_t const x = memory.load(a + i), y = memory.load(b + j);
    bool const is_first = x <= y;
    memory.store(to + k++, is_first ? x : y);
    i += is_first ? 1 : 0;
    j += is_first ? 0 : 1;
  };
  auto const take_greater = [&] {
    std::uint32_t const x = memory.load(a + (i_end - 1)), y = memory.load(b + (j_end - 1));
    bool const is_first = x > y;
    memory.store(to + --k_end, is_first ? x : y);
    i_end -= is_first ? 1 : 0;
    j_end -= is_first ? 0 : 1;
  };
  // So many times neither end can use a run up.
  while (std::uint32_t const pairs = std::min(i_end - i, j_end - j) / 2)
    for (std::uint32_t n = 0; n < pairs; ++n) {
      take_smaller();
      take_greater();
    }
  while (i != i_end && j != j_end) // NOLINT(*-infinite-loop): take_smaller() counts
    take_smaller();
  while (i != i_end)
    memory.store(to + k++, memory.load(a + i++));
  while (j != j_end)
    memory.store(to + k++, memory.load(b + j++));
}

} // namespace quarry::sort

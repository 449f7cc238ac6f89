// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "merge_runs.hpp"
#include "values.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace quarry::sort {

/// Four neighbouring parts, of which the last may be longer by up to three.
struct quarters {
  std::size_t first, half, third;

  explicit constexpr quarters(std::size_t count) noexcept
      : first(count / 4), half(2 * first), third(3 * first) {}
};

/// Two sorted runs as one.
inline void merge(std::span<std::uint32_t const> a, std::span<std::uint32_t const> b,
                  std::span<std::uint32_t> to) {
  host_memory memory;
  merge_runs(memory, a.data(), static_cast<std::uint32_t>(a.size()), b.data(),
             static_cast<std::uint32_t>(b.size()), to.data());
}

/// Sorts in place as the thesis does: four parts, each sorted so, then merged twice; `spare` is as
/// long and holds nothing of interest afterwards.
inline void sort_serially(std::span<std::uint32_t> values, std::span<std::uint32_t> spare) {
  if (values.size() <= base_size)
    return std::sort(values.begin(), values.end());
  quarters const q(values.size());
  for (auto const& [begin, end] : {std::pair{std::size_t{0}, q.first}, std::pair{q.first, q.half},
                                   std::pair{q.half, q.third}, std::pair{q.third, values.size()}})
    sort_serially(values.subspan(begin, end - begin), spare.subspan(begin, end - begin));
  merge(values.first(q.first), values.subspan(q.first, q.first), spare.first(q.half));
  merge(values.subspan(q.half, q.first), values.subspan(q.third), spare.subspan(q.half));
  merge(spare.first(q.half), spare.subspan(q.half), values);
}

/// The values in ascending order.
[[nodiscard]] inline std::vector<std::uint32_t> reference(std::vector<std::uint32_t> values) {
  std::ranges::sort(values);
  return values;
}

} // namespace quarry::sort

// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// Two sorted parts of `from` that meet at `middle`, as one in `to`.
inline void merge(std::span<std::uint32_t const> from, std::size_t middle,
                  std::span<std::uint32_t> to) {
  auto const m = from.begin() + static_cast<std::ptrdiff_t>(middle);
  std::merge(from.begin(), m, m, from.end(), to.begin());
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
  merge(values.first(q.half), q.first, spare.first(q.half));
  merge(values.subspan(q.half), q.third - q.half, spare.subspan(q.half));
  merge(spare, q.half, values);
}

/// The values in ascending order.
[[nodiscard]] inline std::vector<std::uint32_t> reference(std::vector<std::uint32_t> values) {
  std::ranges::sort(values);
  return values;
}

} // namespace quarry::sort

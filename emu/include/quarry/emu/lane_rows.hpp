// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/affine.hpp>
#include <quarry/emu/cache_port.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/lane_mask.hpp>

#include <algorithm>
#include <cstddef>
#include <source_location>
#include <utility>

namespace quarry::emu {

/// An index whose lanes are consecutive, row by row.
template<class Index>
concept row_index = Index::step == 1 && Index::rows >= 1;
template<class Index>
concept single_row_index = row_index<Index> && Index::rows == 1;

/// f(row) for each row of the access, if its lanes have consecutive elements and all of them, or
/// the first so many of a single row, are active. Otherwise false, and nothing is done.
template<class T, class Index, class F>
bool for_each_row(lane_address<T, Index> const& at, lane_mask active, std::source_location where,
                  F&& f) {
  if constexpr (row_index<Index>) {
    int const count = Index::rows == 1 ? active.count() : Index::size;
    if (active != lane_mask::first_n(count))
      return false;
    for (int r = 0; r < Index::rows; ++r)
      f(cache_port::lane_row{.at = at.base + at.index.row_base(r),
                             .element = sizeof(T),
                             .count = static_cast<unsigned>(std::min(count, Index::width)),
                             .first_lane = r * Index::width,
                             .where = where});
    return true;
  } else {
    return false;
  }
}

/// The lowest and the highest element of the active lanes, of which there are some.
template<class T, class Index>
[[nodiscard]] std::pair<T*, T*> ends_of(lane_address<T, Index> const& at,
                                        lane_mask active) noexcept {
  if constexpr (single_row_index<Index>) {
    return {at.base + at.index[active.first()], at.base + at.index[active.last()]};
  } else {
    T* lowest = at.base + at.index[active.first()];
    T* highest = lowest;
    active.for_each([&](int lane) {
      T* const one = at.base + at.index[lane];
      lowest = std::min(lowest, one);
      highest = std::max(highest, one);
    });
    return {lowest, highest};
  }
}

} // namespace quarry::emu

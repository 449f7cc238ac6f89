// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "values.hpp"

#include <quarry/emu/global.hpp>
#include <quarry/emu/wavefront.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace quarry::sort {

/// Puts `count` rows into order, lane by lane, whatever is in them: no branch depends on a value.
///
/// Source   Batcher's merge exchange; Knuth, The Art of Computer Programming 3, 5.2.2, algorithm M
template<class Row>
void exchange_rows(Row* rows, std::size_t count) {
  std::size_t const top = std::bit_ceil(count) / 2;
  for (std::size_t p = top; p != 0; p /= 2)
    for (std::size_t q = top, r = 0, apart = p;; apart = q - p, q /= 2, r = p) {
      for (std::size_t i = 0; i + apart < count; ++i)
        if ((i & p) == r) {
          Row const a = rows[i];
          Row const b = rows[i + apart];
          rows[i] = min(a, b);
          rows[i + apart] = max(a, b);
        }
      if (q == p)
        break;
    }
}

/// Sorts short runs of values in place, one in each lane: at most as many as the wavefront has
/// lanes, of at most `base_size` values each.
template<emu::any_wavefront W>
void sort_in_lanes(W& wf, std::span<std::span<std::uint32_t> const> runs) {
  using row = typename W::template lanes<std::uint32_t>;
  using index = typename W::template lanes<std::int64_t>;
  emu::global<std::uint32_t> const base(runs.front().data());
  index first(0), count(0); // a run's, from `base` on
  std::size_t longest = 0;
  for (std::size_t lane = 0; lane != runs.size(); ++lane) {
    first.set(static_cast<int>(lane), runs[lane].data() - base.get());
    count.set(static_cast<int>(lane), static_cast<std::int64_t>(runs[lane].size()));
    longest = std::max(longest, runs[lane].size());
  }
  std::array<row, base_size> rows; // NOLINT(*-member-init): lanes beyond a run's end hold the most
  for (std::size_t i = 0; i != longest; ++i) {
    auto const i_of_run = static_cast<std::int64_t>(i);
    rows[i] = std::numeric_limits<std::uint32_t>::max();
    if (auto const there = wf.where(count > i_of_run))
      rows[i] = emu::select(count > i_of_run, wf.load(base + (first + i_of_run)), rows[i]);
  }
  exchange_rows(rows.data(), longest);
  for (std::size_t i = 0; i != longest; ++i) {
    auto const i_of_run = static_cast<std::int64_t>(i);
    if (auto const there = wf.where(count > i_of_run))
      wf.store(base + (first + i_of_run), rows[i]);
  }
}

} // namespace quarry::sort

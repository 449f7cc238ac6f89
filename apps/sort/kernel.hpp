// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "merge_runs.hpp"
#include "reference.hpp"
#include "sort_in_lanes.hpp"
#include "values.hpp"

#include <quarry/emu/cilk.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace quarry::sort {

/// Sorts `count` values in place: four parts, each sorted so, then merged twice. A merge is divided
/// as well, into halves of what it makes.
///
/// Source   thesis §4.5.1; the MIT Cilk runtime's cilksort, whose merge divides what it reads
struct call {
  using result = emu::no_result;
  static constexpr std::uint32_t most_spawned = 4;
  static constexpr std::uint32_t syncs = 2;
  using words = emu::global<std::uint32_t>;

  words values; ///< merge: two sorted parts of these …
  words spare;  ///< … become one here
  std::uint32_t count;
  std::uint32_t middle; ///< merge: where the second part begins
  std::uint32_t second; ///< merge: of it, counted from `middle`
  std::uint32_t first;  ///< merge: of the first part
  bool is_merge;

  [[nodiscard]] static call sorting(words values, words spare, std::uint32_t count) {
    return {values, spare, count, 0, 0, 0, false};
  }
  /// `first` values from `from` and `second` from `from + middle` go to `to`.
  [[nodiscard]] static call merging(words from, words to, std::uint32_t first, std::uint32_t middle,
                                    std::uint32_t second) {
    return {from, to, first + second, middle, second, first, true};
  }

  void operator()(auto& self) const {
    if (is_merge)
      return merge(self);
    quarters const q(count);
    std::size_t const ends[] = {0, q.first, q.half, q.third, count};
    for (int i = 0; i < 4; ++i)
      self.spawn(sorting(values + ends[i], spare + ends[i],
                         static_cast<std::uint32_t>(ends[i + 1] - ends[i])));
  }
  /// What is not divided is sorted by a wavefront, a lane each.
  [[nodiscard]] bool is_leaf() const noexcept { return !is_merge && count <= base_size; }
  template<emu::any_wavefront W>
  static void run_leaves(W& wf, std::span<call const> calls) {
    std::array<std::span<std::uint32_t>, W::size> runs;
    std::ranges::transform(calls, runs.begin(),
                           [](call const& c) { return std::span(c.values.get(), c.count); });
    sort_in_lanes(wf, std::span(runs).first(calls.size()));
  }
  void after_sync(auto& self, emu::first_sync) const {
    quarters const q(count);
    auto const length = [](std::size_t n) { return static_cast<std::uint32_t>(n); };
    self.spawn(merging(values, spare, length(q.first), length(q.first), length(q.half - q.first)));
    self.spawn(merging(values + q.half, spare + q.half, length(q.third - q.half),
                       length(q.third - q.half), length(count - q.third)));
  }
  void after_sync(auto& self, emu::second_sync) const {
    auto const half = static_cast<std::uint32_t>(quarters(count).half);
    self.spawn(merging(spare, values, half, half, count - half)); // its parent waits for it
  }

  /// Levels of the recursion: the merges of level d begin in level d + 1.
  [[nodiscard]] static std::uint32_t depth(std::uint64_t count) noexcept {
    auto const halvings = static_cast<std::uint32_t>(std::bit_width(count / merge_base + 1));
    auto const quarterings = static_cast<std::uint32_t>(std::bit_width(count / base_size + 1) / 2);
    return std::max(halvings, quarterings) + 3;
  }

private:
  void merge(auto& self) const {
    if (count <= merge_base)
      return merge_runs(self.memory(), values, first, values + middle, second, spare);
    // So many of the first part come before the middle of the result.
    std::uint32_t const half = count / 2;
    std::uint32_t low = half > second ? half - second : 0, high = std::min(half, first);
    while (low < high) {
      std::uint32_t const i = (low + high) / 2;
      if (self.memory().load(values + i) <= self.memory().load(values + middle + (half - i - 1)))
        low = i + 1;
      else
        high = i;
    }
    std::uint32_t const j = half - low;
    self.spawn(merging(values, spare, low, middle, j));
    self.spawn(merging(values + low, spare + half, first - low, middle + j - low, second - j));
    self.finishes();
  }
};

} // namespace quarry::sort

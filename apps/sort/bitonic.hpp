// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "values.hpp"

#include <quarry/emu/agent.hpp>
#include <quarry/emu/buffer.hpp>
#include <quarry/emu/wavefront.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace quarry::sort {

/// One step of a bitonic sort: every work-item puts two elements that are `apart` into order,
/// which changes its direction every `run` elements.
///
/// Source   Batcher: Sorting networks and their applications, 1968
struct bitonic_step {
  template<emu::any_wavefront W>
  void operator()(W& wf, emu::global<std::uint32_t> values, std::uint32_t apart,
                  std::uint32_t run) const {
    using words = typename W::template lanes<std::uint32_t>;
    auto const item = emu::convert<std::uint32_t>(wf.global_id().to_lanes());
    words const first = (item & ~(apart - 1)) * 2U + (item & (apart - 1));
    auto const is_up = (first & run) == 0U;
    if (apart < static_cast<std::uint32_t>(W::size)) {
      auto const at = emu::convert<std::int32_t>(first);
      exchange(wf, values + at, values + apart + at, is_up);
    } else {
      // A wavefront's elements lie side by side: no gather.
      typename W::local_index const side_by_side(0);
      exchange(wf, values + first[0] + side_by_side, values + first[0] + apart + side_by_side,
               is_up);
    }
  }

private:
  template<class W, class Address, class Up>
  static void exchange(W& wf, Address at, Address other, Up const& is_up) {
    auto const a = wf.load(at);
    auto const b = wf.load(other);
    auto const low = min(a, b);
    auto const high = max(a, b);
    wf.store(at, emu::select(is_up, low, high));
    wf.store(other, emu::select(is_up, high, low));
  }
};

/// Sorts without channels: a launch for each step, log2(n) (log2(n) + 1) / 2 of them.
///
/// Shape    a power of two of values, at least 2
/// Errors   std::runtime_error – the kernel faulted
template<class Targets>
void sort_bitonic(emu::basic_agent<Targets>& gpu, emu::buffer<std::uint32_t>& values) {
  auto const count = static_cast<std::uint32_t>(values.size());
  for (std::uint32_t run = 2; run <= count; run *= 2)
    for (std::uint32_t apart = run / 2; apart != 0; apart /= 2)
      gpu.run({.work_items = count / 2, .work_items_per_group = 256}, bitonic_step{},
              values.global(), apart, run)
          .or_throw();
}

/// As many as sort_bitonic() takes, the rest of them the largest values.
[[nodiscard]] inline std::size_t bitonic_size(std::size_t count) {
  return std::bit_ceil(std::max<std::size_t>(count, 2));
}
template<class Targets>
[[nodiscard]] emu::buffer<std::uint32_t> bitonic_values(emu::basic_agent<Targets>& gpu,
                                                        std::span<std::uint32_t const> values) {
  auto made = gpu.template allocate<std::uint32_t>(bitonic_size(values.size()), "values");
  std::ranges::fill(made.host(), std::numeric_limits<std::uint32_t>::max());
  std::ranges::copy(values, made.host().begin());
  return made;
}

} // namespace quarry::sort

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace quarry::bench {

// What each kernel computes. The memory belongs to the benchmark, is on huge pages where there are
// any, and is the same for everybody who takes part.

inline constexpr std::size_t work_group_size = 256;

/// y = a x + y, in place. Shape 2^26 floats
struct saxpy_problem {
  float a;
  std::span<float const> x;
  std::span<float> y;
};

/// sums[g] = the sum of work-group g's 256 values.
///
/// Two forms of the same problem: barriers down to a wavefront and then a wavefront's reduction,
/// and the naive one with a barrier at each of the 8 steps. Shape 2^24 floats
struct block_reduce_problem {
  std::span<float const> values;
  std::span<float> sums;
};

/// c = a b, row by row; each work-group makes a tile of 16 x 16 and steps through k by 16.
struct matmul_problem {
  static constexpr std::size_t tile = 16;
  std::size_t n; ///< rows and columns; a multiple of `tile`
  std::span<float const> a;
  std::span<float const> b;
  std::span<float> c;
};

/// bins[v % 256] = how many values are v modulo 256; counted anew by each run.
///
/// Each work-group counts 256 x 64 values in bins of its own, work-item l taking values l, l + 256
/// ... of them, and then adds its bins to the result. Shape 2^24 values
struct histogram_problem {
  static constexpr std::size_t bin_count = 256;
  static constexpr std::size_t values_per_work_item = 64;
  static constexpr std::size_t values_per_group = work_group_size * values_per_work_item;
  std::span<std::uint32_t const> values;
  std::span<std::uint32_t> bins;
};

/// Work-groups that pass `rounds` barriers.
///
/// barrier: nothing between two barriers; results[i] = the number of barriers that work-item i
/// passed.
///
/// barrier_work: one LDS load and one LDS store between two barriers. Two LDS arrays p and q of 256
/// words; p[l] = i at the start, for global index i and local index l; in each round
/// q[l] = p[(l + 64) % 256] + 1, barrier, p and q change places; results[i] = p[l] at the end.
struct barrier_problem {
  std::size_t group_count;
  std::uint32_t rounds;
  std::span<std::uint32_t> results; ///< one for each work-item
};

/// A kernel that does nothing, in `group_count` work-groups of 256.
struct launch_problem {
  std::size_t group_count;
};

/// results[i] = i, by a kernel written for one work-item: a plain function, or a coroutine that
/// never suspends. Shape 2^20 work-items
struct item_problem {
  std::span<std::uint32_t> results;
};

} // namespace quarry::bench

// SPDX-License-Identifier: Apache-2.0
#include "peers.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <atomic>

namespace quarry::bench {
namespace {

template<class Body>
void for_each_group(std::size_t group_count, Body const& body) {
  tbb::parallel_for(tbb::blocked_range<std::size_t>{0, group_count},
                    [&body](tbb::blocked_range<std::size_t> const& groups) {
                      for (std::size_t g = groups.begin(); g != groups.end(); ++g)
                        body(g);
                    });
}

void saxpy(saxpy_problem const& p) {
  tbb::parallel_for(tbb::blocked_range<std::size_t>{0, p.y.size()},
                    [a = p.a, x = p.x.data(), y = p.y.data()](auto const& range) {
                      for (std::size_t i = range.begin(); i != range.end(); ++i)
                        y[i] = a * x[i] + y[i];
                    });
}

void block_reduce(block_reduce_problem const& p) {
  for_each_group(p.sums.size(), [&p](std::size_t g) {
    float const* const in = p.values.data() + g * work_group_size;
    // 64 sums side by side, so that the order of the additions lets the compiler use vectors.
    std::array<float, 64> sum{};
    for (std::size_t i = 0; i < work_group_size; i += sum.size())
      for (std::size_t l = 0; l < sum.size(); ++l)
        sum[l] += in[i + l];
    for (std::size_t width = sum.size() / 2; width != 0; width /= 2)
      for (std::size_t l = 0; l < width; ++l)
        sum[l] += sum[l + width];
    p.sums[g] = sum[0];
  });
}

void block_reduce_naive(block_reduce_problem const& p) {
  for_each_group(p.sums.size(), [&p](std::size_t g) {
    std::array<float, work_group_size> lds;
    std::copy_n(p.values.data() + g * work_group_size, work_group_size, lds.data());
    for (std::size_t width = work_group_size / 2; width != 0; width /= 2)
      for (std::size_t l = 0; l < width; ++l)
        lds[l] += lds[l + width];
    p.sums[g] = lds[0];
  });
}

/// One row of a tile, in a register where the machine has one that wide.
using tile_row [[gnu::vector_size(matmul_problem::tile * sizeof(float))]] = float;

tile_row load(float const* from) {
  tile_row row;
  __builtin_memcpy(&row, from, sizeof row);
  return row;
}

void matmul_tile(matmul_problem const& p, std::size_t row, std::size_t column) {
  constexpr std::size_t tile = matmul_problem::tile;
  // Copies of the two tiles, as a work-group makes in its LDS: the rows of a matrix whose size is
  // a power of two fall on the same cache sets.
  std::array<std::array<float, tile>, tile> a;
  std::array<tile_row, tile> b;
  std::array<tile_row, tile> c{};
  for (std::size_t k = 0; k < p.n; k += tile) {
    for (std::size_t i = 0; i < tile; ++i) {
      std::copy_n(&p.a[(row + i) * p.n + k], tile, a[i].data());
      b[i] = load(&p.b[(k + i) * p.n + column]);
    }
    for (std::size_t kk = 0; kk < tile; ++kk)
      for (std::size_t i = 0; i < tile; ++i)
        c[i] += a[i][kk] * b[kk];
  }
  for (std::size_t i = 0; i < tile; ++i)
    __builtin_memcpy(&p.c[(row + i) * p.n + column], &c[i], sizeof c[i]);
}

void matmul(matmul_problem const& p) {
  std::size_t const tiles = p.n / matmul_problem::tile;
  for_each_group(tiles * tiles, [&p, tiles](std::size_t g) {
    matmul_tile(p, g / tiles * matmul_problem::tile, g % tiles * matmul_problem::tile);
  });
}

void histogram(histogram_problem const& p) {
  std::ranges::fill(p.bins, 0);
  for_each_group(p.values.size() / histogram_problem::values_per_group, [&p](std::size_t g) {
    // Four histograms: equal values in a row would otherwise wait for one another's store.
    std::array<std::array<std::uint32_t, histogram_problem::bin_count>, 4> bins{};
    std::uint32_t const* const in = p.values.data() + g * histogram_problem::values_per_group;
    for (std::size_t i = 0; i < histogram_problem::values_per_group; i += bins.size())
      for (std::size_t k = 0; k < bins.size(); ++k)
        ++bins[k][in[i + k] % histogram_problem::bin_count];
    for (std::size_t bin = 0; bin < histogram_problem::bin_count; ++bin)
      std::atomic_ref{p.bins[bin]}.fetch_add(
          bins[0][bin] + bins[1][bin] + bins[2][bin] + bins[3][bin], std::memory_order_relaxed);
  });
}

void barrier_work(barrier_problem const& p) {
  for_each_group(p.group_count, [&p](std::size_t g) {
    std::array<std::array<std::uint32_t, work_group_size>, 2> lds;
    for (std::size_t l = 0; l < work_group_size; ++l)
      lds[0][l] = static_cast<std::uint32_t>(g * work_group_size + l);
    for (std::uint32_t r = 0; r < p.rounds; ++r) {
      auto const& from = lds[r % 2];
      auto& to = lds[(r + 1) % 2];
      for (std::size_t l = 0; l < work_group_size - 64; ++l)
        to[l] = from[l + 64] + 1;
      for (std::size_t l = 0; l < 64; ++l)
        to[l + work_group_size - 64] = from[l] + 1;
    }
    std::ranges::copy(lds[p.rounds % 2],
                      p.results.begin() + static_cast<std::ptrdiff_t>(g * work_group_size));
  });
}

void launch(launch_problem const& p) {
  // The empty statement keeps the compiler from dropping the loop over the groups.
  for_each_group(p.group_count, [](std::size_t) { asm volatile(""); });
}

template<class Problem>
prepare<Problem> plainly(void (*kernel)(Problem const&)) {
  return [kernel](Problem const& problem) {
    return prepared{.run = [kernel, problem] { kernel(problem); }, .collect = {}};
  };
}

} // namespace

peer tbb_peer() {
  return {.who = "tbb",
          .absent = {},
          .saxpy = plainly(saxpy),
          .block_reduce = plainly(block_reduce),
          .block_reduce_naive = plainly(block_reduce_naive),
          .matmul = plainly(matmul),
          .histogram = plainly(histogram),
          .barrier = {},
          .barrier_work = plainly(barrier_work),
          .launch = plainly(launch)};
}

} // namespace quarry::bench

// SPDX-License-Identifier: Apache-2.0
#include "pocl_source.hpp"

namespace quarry::bench {

char const* const opencl_source = R"(
#define SIZE 256

__attribute__((reqd_work_group_size(SIZE, 1, 1)))
kernel void saxpy(float a, global float const* restrict x, global float* restrict y) {
  size_t const i = get_global_id(0);
  y[i] = a * x[i] + y[i];
}

/* OpenCL C 1.2 has no wavefronts: a quarter of the work-items sums what the four quarters hold,
   and one work-item the rest, in vectors. */
__attribute__((reqd_work_group_size(SIZE, 1, 1)))
kernel void block_reduce(global float const* restrict values, global float* restrict sums) {
  local float lds[SIZE];
  size_t const l = get_local_id(0);
  lds[l] = values[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l < 64)
    lds[l] += lds[l + 64] + lds[l + 128] + lds[l + 192];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) {
    float16 const s16 = vload16(0, lds) + vload16(1, lds) + vload16(2, lds) + vload16(3, lds);
    float8 const s8 = s16.lo + s16.hi;
    float4 const s4 = s8.lo + s8.hi;
    sums[get_group_id(0)] = s4.x + s4.y + s4.z + s4.w;
  }
}

__attribute__((reqd_work_group_size(SIZE, 1, 1)))
kernel void block_reduce_naive(global float const* restrict values, global float* restrict sums) {
  local float lds[SIZE];
  size_t const l = get_local_id(0);
  lds[l] = values[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (size_t width = SIZE / 2; width != 0; width /= 2) {
    if (l < width)
      lds[l] += lds[l + width];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0)
    sums[get_group_id(0)] = lds[0];
}

#define TILE 16
__attribute__((reqd_work_group_size(TILE, TILE, 1)))
kernel void matmul(uint n, global float const* restrict a, global float const* restrict b,
                   global float* restrict c) {
  local float tile_a[TILE][TILE];
  local float tile_b[TILE][TILE];
  uint const x = get_local_id(0), y = get_local_id(1);
  uint const column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (uint k = 0; k < n; k += TILE) {
    tile_a[y][x] = a[row * n + k + x];
    tile_b[y][x] = b[(k + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < TILE; ++i)
      sum += tile_a[y][i] * tile_b[i][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}

#define BINS 256
#define VALUES_PER_WORK_ITEM 64
__attribute__((reqd_work_group_size(SIZE, 1, 1)))
kernel void histogram(global uint const* restrict values, global uint* restrict bins) {
  local uint mine[BINS];
  size_t const l = get_local_id(0);
  mine[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  size_t const first = get_group_id(0) * SIZE * VALUES_PER_WORK_ITEM + l;
  for (size_t i = 0; i < VALUES_PER_WORK_ITEM; ++i)
    atomic_inc(&mine[values[first + i * SIZE] % BINS]);
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&bins[l], mine[l]);
}

__attribute__((reqd_work_group_size(SIZE, 1, 1)))
kernel void barrier_only(uint rounds, global uint* restrict results) {
  uint passed = 0;
  for (uint r = 0; r < rounds; ++r) {
    barrier(CLK_LOCAL_MEM_FENCE);
    ++passed;
  }
  results[get_global_id(0)] = passed;
}

__attribute__((reqd_work_group_size(SIZE, 1, 1)))
kernel void barrier_work(uint rounds, global uint* restrict results) {
  local uint lds[2][SIZE];
  size_t const l = get_local_id(0);
  lds[0][l] = get_global_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint r = 0; r < rounds; ++r) {
    lds[(r + 1) % 2][l] = lds[r % 2][(l + 64) % SIZE] + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  results[get_global_id(0)] = lds[rounds % 2][l];
}

__attribute__((reqd_work_group_size(SIZE, 1, 1)))
kernel void empty() {}
)";

} // namespace quarry::bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matrix.hpp"

#include <quarry/emu/agent.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/wavefront.hpp>
#include <quarry/task.hpp>

#include <cstdint>

namespace quarry::strassen {

/// c = a b by the definition: each work-group a tile of c, through tiles of a and b in its LDS. As
/// in a vendor's samples.
struct tiled_kernel {
  static constexpr int size = base_size;
  using tile = emu::lds_view<float, size, size>;

  template<emu::any_wavefront W>
  task<> operator()(W& wf, emu::global<float const> a, emu::global<float const> b,
                    emu::global<float> c, std::int64_t n) const {
    tile const a_tile = wf.template lds<float, size, size>();
    tile const b_tile = wf.template lds<float, size, size>();
    std::int64_t const top = std::int64_t{wf.group_id().y} * size;
    std::int64_t const left = std::int64_t{wf.group_id().x} * size;
    emu::lanes<float, W::size> sum = 0;
    for (std::int64_t k = 0; k < n; k += size) {
      copy_tile(wf, a, n, top, k, a_tile);
      copy_tile(wf, b, n, k, left, b_tile);
      co_await wf.barrier();
      sum = multiply_tiles(wf, a_tile, b_tile, sum);
      co_await wf.barrier();
    }
    auto const [row, column] = wf.template tile<size>();
    wf.store(c + ((row + top) * n + (column + left)), sum);
  }

private:
  static void copy_tile(emu::any_wavefront auto& wf, emu::global<float const> from, std::int64_t n,
                        std::int64_t top, std::int64_t left, tile to) {
    auto const [row, column] = wf.template tile<size>();
    auto const values = wf.load(from + ((row + top) * n + (column + left)));
    wf.store(to(row, column), values);
  }
  // A function of its own: between two suspensions the sum stays in registers here.
  template<emu::any_wavefront W>
  static emu::lanes<float, W::size> multiply_tiles(W& wf, tile a, tile b,
                                                   emu::lanes<float, W::size> sum) {
    auto const [row, column] = wf.template tile<size>();
    for (int k = 0; k < size; ++k) {
      auto const factor = wf.load(a(row, k));
      sum = fma(factor, wf.load(b(k, column)), sum);
    }
    return sum;
  }
};

/// Shape    n a multiple of base_size
/// Errors   std::runtime_error – the kernel faulted
template<class Targets>
void multiply_tiled(emu::basic_agent<Targets>& gpu, emu::global<float const> a,
                    emu::global<float const> b, emu::global<float> c, std::uint32_t n) {
  std::uint32_t const tiles = n / base_size;
  gpu.run({.work_groups = {tiles, tiles},
           .work_items_per_group = {base_size, base_size},
           .lds_bytes = 2 * sizeof(float) * base_size * base_size},
          tiled_kernel{}, a, b, c, std::int64_t{n})
      .or_throw();
}

} // namespace quarry::strassen

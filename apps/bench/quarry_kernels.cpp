// SPDX-License-Identifier: Apache-2.0
// The kernels of problems.hpp as a user of Quarry would write them.
#include "peers.hpp"

#include <quarry/emu.hpp>
#include <quarry/native_scheduler.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace quarry::bench {
namespace {

using namespace quarry::emu;

constexpr int group_size = work_group_size;

/// y = a x + y. It never waits, so it need not be a coroutine.
struct saxpy {
  void operator()(any_wavefront auto& wf, float a, global<float const> x, global<float> y) const {
    auto const i = wf.global_id();
    wf.store(y + i, a * wf.load(x + i) + wf.load(y + i));
  }
};

/// The same, which says what wavefronts soon after this one will load.
struct saxpy_prefetch {
  static constexpr int ahead = 320; ///< 1280 bytes
  void operator()(any_wavefront auto& wf, float a, global<float const> x, global<float> y) const {
    auto const i = wf.global_id();
    wf.prefetch(x + (i + ahead));
    wf.prefetch(y + (i + ahead));
    wf.store(y + i, a * wf.load(x + i) + wf.load(y + i));
  }
};

using partial_sums = lds_view<float, group_size>;

/// Adds the upper half of the first 2 * width partial sums to the lower half.
void add_upper_half(any_wavefront auto& wf, partial_sums partial, int width) {
  auto const l = wf.local_id();
  if (auto const lower_half = wf.where(l < width)) {
    auto const upper = wf.load(partial + (l + width));
    wf.store(partial + l, wf.load(partial + l) + upper);
  }
}

/// Barriers down to one wavefront, which does the rest by itself.
struct block_reduce {
  template<any_wavefront Wavefront>
  task<> operator()(Wavefront& wf, global<float const> values, global<float> sums) const {
    partial_sums const partial = wf.template lds<float, group_size>();
    wf.store(partial + wf.local_id(), wf.load(values + wf.global_id()));
    for (int width = group_size / 2; width >= Wavefront::size; width /= 2) {
      co_await wf.barrier();
      add_upper_half(wf, partial, width);
    }
    if (wf.index_in_group() == 0) // it has written all the sums that are left itself
      wf.store(sums + wf.linear_group_id(), wf.reduce(wf.load(partial + wf.local_id()), plus{}));
  }
};

/// A barrier at each step, as textbooks begin.
struct block_reduce_naive {
  task<> operator()(any_wavefront auto& wf, global<float const> values, global<float> sums) const {
    partial_sums const partial = wf.template lds<float, group_size>();
    wf.store(partial + wf.local_id(), wf.load(values + wf.global_id()));
    for (int width = group_size / 2; width != 0; width /= 2) {
      co_await wf.barrier();
      add_upper_half(wf, partial, width);
    }
    if (wf.index_in_group() == 0)
      wf.store(sums + wf.linear_group_id(), wf.load(partial + 0));
  }
};

/// c = a b, a tile of c for each work-group of 16 x 16.
struct matmul {
  static constexpr int size = matmul_problem::tile;
  using tile = lds_view<float, size, size>;
  struct matrix {
    global<float const> first;
    std::int64_t columns;
  };

  template<any_wavefront Wavefront>
  task<> operator()(Wavefront& wf, matrix a, matrix b, global<float> c) const {
    tile const a_tile = wf.template lds<float, size, size>();
    tile const b_tile = wf.template lds<float, size, size>();
    std::int64_t const top = std::int64_t{wf.group_id().y} * size;
    std::int64_t const left = std::int64_t{wf.group_id().x} * size;
    lanes<float, Wavefront::size> sum = 0;
    for (std::int64_t k = 0; k < a.columns; k += size) {
      copy_tile(wf, a, top, k, a_tile);
      copy_tile(wf, b, k, left, b_tile);
      co_await wf.barrier();
      sum = multiply_tiles(wf, a_tile, b_tile, sum);
      co_await wf.barrier();
    }
    auto const [row, column] = wf.template tile<size>();
    wf.store(c + ((row + top) * b.columns + (column + left)), sum);
  }

private:
  static void copy_tile(any_wavefront auto& wf, matrix from, std::int64_t top, std::int64_t left,
                        tile to) {
    auto const [row, column] = wf.template tile<size>();
    wf.store(to(row, column), wf.load(from.first + ((row + top) * from.columns + (column + left))));
  }

  // A function of its own: between two suspensions the sum stays in registers here.
  template<any_wavefront Wavefront>
  static lanes<float, Wavefront::size> multiply_tiles(Wavefront& wf, tile a, tile b,
                                                      lanes<float, Wavefront::size> sum) {
    auto const [row, column] = wf.template tile<size>();
    for (int k = 0; k < size; ++k) {
      auto const factor = wf.load(a(row, k));
      sum = fma(factor, wf.load(b(k, column)), sum);
    }
    return sum;
  }
};

/// Counts in bins of the group's own, which it adds to the result at its end.
struct histogram {
  static constexpr int bin_count = histogram_problem::bin_count;
  static constexpr int per_item = histogram_problem::values_per_work_item;
  static_assert(bin_count == group_size, "a work-item looks after one bin");
  using bins = lds_view<std::uint32_t, bin_count>;

  task<> operator()(any_wavefront auto& wf, global<std::uint32_t const> values,
                    global<std::uint32_t> result) const {
    bins const mine = wf.template lds<std::uint32_t, bin_count>();
    wf.store(mine + wf.local_id(), 0);
    co_await wf.barrier();
    count(wf, values + wf.linear_group_id() * histogram_problem::values_per_group, mine);
    co_await wf.barrier();
    auto const total = wf.load(mine + wf.local_id());
    wf.fetch_add(result + wf.local_id(), total, order::relaxed, scope::agent);
  }

private:
  static void count(any_wavefront auto& wf, global<std::uint32_t const> values, bins mine) {
    auto const l = wf.local_id();
#pragma GCC unroll 8
    for (int i = 0; i < per_item; ++i) {
      auto const bin = wf.load(values + (l + i * group_size)) % std::uint32_t{bin_count};
      // A group is on one compute unit: within it an addition needs no atomic instruction.
      wf.add(mine + bin, 1, order::relaxed, scope::work_group);
    }
  }
};

struct barrier {
  task<> operator()(any_wavefront auto& wf, std::uint32_t rounds,
                    global<std::uint32_t> results) const {
    std::uint32_t passed = 0;
    for (; passed < rounds; ++passed)
      co_await wf.barrier();
    wf.store(results + wf.global_id(), passed);
  }
};

struct barrier_work {
  using words = lds_view<std::uint32_t, group_size>;

  task<> operator()(any_wavefront auto& wf, std::uint32_t rounds,
                    global<std::uint32_t> results) const {
    words from = wf.template lds<std::uint32_t, group_size>();
    words to = wf.template lds<std::uint32_t, group_size>();
    wf.store(from + wf.local_id(), first_values(wf));
    for (std::uint32_t r = 0; r < rounds; ++r) {
      // Round 0 as well: what a round reads another wavefront has written before it.
      co_await wf.barrier();
      move_on(wf, from, to);
      std::swap(from, to);
    }
    wf.store(results + wf.global_id(), wf.load(from + wf.local_id()));
  }

private:
  template<any_wavefront Wavefront>
  static auto first_values(Wavefront& wf) {
    return convert<std::uint32_t>(wf.global_id().to_lanes());
  }
  template<any_wavefront Wavefront>
  static void move_on(Wavefront& wf, words from, words to) {
    auto const l = wf.local_id();
    // The group's size is a multiple of the wavefront's: no wavefront wraps around in its middle.
    typename Wavefront::local_index const source((l.first() + 64) % group_size);
    wf.store(to + l, wf.load(from + source) + 1);
  }
};

struct nothing {
  void operator()(any_wavefront auto&) const {}
};

/// The same in the form of a kernel that may wait.
struct nothing_coroutine {
  task<> operator()(any_wavefront auto&) const { co_return; }
};

/// One coroutine per work-item, which stores one value.
struct item_coroutine {
  task<> operator()(any_work_item auto& wi, global<std::uint32_t> results) const {
    wi.store(results + wi.global_id(), wi.global_id());
    co_return;
  }
};

/// The same as a plain function.
struct item_plain {
  void operator()(any_plain_work_item auto& wi, global<std::uint32_t> results) const {
    wi.store(results + wi.global_id(), wi.global_id());
  }
};

/// The same, behind a barrier of the group.
struct item_coroutine_barrier {
  task<> operator()(any_work_item auto& wi, global<std::uint32_t> results) const {
    co_await wi.barrier();
    wi.store(results + wi.global_id(), wi.global_id());
  }
};
struct item_plain_barrier {
  void operator()(any_plain_work_item auto& wi, global<std::uint32_t> results) const {
    wi.barrier();
    wi.store(results + wi.global_id(), wi.global_id());
  }
};

/// The emulated GPU on which all kernels run.
class gpu {
public:
  explicit gpu(launch_path launches = launch_path::automatic)
      : agent_(scheduler_, {}, {.launches = launches}) {}

  template<class Kernel, class... Args>
  void run(launch_config site, Kernel kernel, Args... args) {
    outcome const end = agent_.run(site, kernel, args...);
    if (auto const& fault = end.get_fault())
      throw std::runtime_error(fault->report);
  }

  /// The same by a packet in a user-mode queue.
  template<class Kernel>
  void run_packet(launch_config const& site, Kernel kernel) {
    loaded_kernel const loaded = agent_.load(kernel);
    signal_.word().get()[0] = 1;
    outcome end =
        packets_.submit(loaded.packet(site, packet_header{packet_type::kernel_dispatch}, signal_));
    if (end)
      end = packets_.wait(signal_);
    if (auto const& fault = end.get_fault())
      throw std::runtime_error(fault->report);
  }

private:
  native_scheduler scheduler_;
  basic_agent<native_targets> agent_;
  user_queue queue_{agent_.core().known(), 64};
  packet_processor packets_{agent_.core(), queue_};
  signal signal_{agent_.core().known()};
};

template<class T>
global<T> at(std::span<T> memory) {
  return global<T>(memory.data());
}

/// A kernel's launch as a `prepare`: `launch(gpu, problem)` runs it.
template<class Problem, class Launch>
prepare<Problem> on(std::shared_ptr<gpu> const& one, Launch launch) {
  return [one, launch](Problem const& problem) {
    return prepared{.run = [one, launch, problem] { launch(*one, problem); }, .collect = {}};
  };
}

template<class Kernel>
void run_saxpy(gpu& g, saxpy_problem const& p) {
  g.run({.work_items = p.y.size(), .work_items_per_group = 1024}, Kernel{}, p.a, at(p.x), at(p.y));
}

template<class Kernel>
void run_block_reduce(gpu& g, block_reduce_problem const& p) {
  g.run({.work_groups = p.sums.size(), .lds_bytes = group_size * sizeof(float)}, Kernel{},
        at(p.values), at(p.sums));
}

void run_matmul(gpu& g, matmul_problem const& p) {
  constexpr std::uint32_t tile = matmul_problem::tile;
  auto const tiles = static_cast<std::uint32_t>(p.n / tile);
  auto const columns = static_cast<std::int64_t>(p.n);
  g.run({.work_groups = {tiles, tiles},
         .work_items_per_group = {tile, tile},
         .lds_bytes = 2 * sizeof(float) * tile * tile},
        matmul{}, matmul::matrix{at(p.a), columns}, matmul::matrix{at(p.b), columns}, at(p.c));
}

void run_histogram(gpu& g, histogram_problem const& p) {
  std::ranges::fill(p.bins, 0);
  g.run({.work_groups = p.values.size() / histogram_problem::values_per_group,
         .lds_bytes = histogram_problem::bin_count * sizeof(std::uint32_t)},
        histogram{}, at(p.values), at(p.bins));
}

template<class Kernel>
void run_barrier(gpu& g, barrier_problem const& p) {
  g.run({.work_groups = p.group_count, .lds_bytes = 2 * group_size * sizeof(std::uint32_t)},
        Kernel{}, p.rounds, at(p.results));
}

template<class Kernel>
void run_launch(gpu& g, launch_problem const& p) {
  g.run({.work_groups = p.group_count}, Kernel{});
}

void run_launch_packet(gpu& g, launch_problem const& p) {
  g.run_packet({.work_groups = p.group_count}, nothing{});
}

template<class Kernel>
void run_items(gpu& g, item_problem const& p) {
  g.run({.work_items = p.results.size()}, Kernel{}, at(p.results));
}

} // namespace

peer quarry_peer() {
  auto const g = std::make_shared<gpu>();
  peer p{.who = "quarry", .absent = {}};
  p.saxpy = on<saxpy_problem>(g, run_saxpy<saxpy>);
  p.saxpy_prefetch = on<saxpy_problem>(g, run_saxpy<saxpy_prefetch>);
  p.block_reduce = on<block_reduce_problem>(g, run_block_reduce<block_reduce>);
  p.block_reduce_naive = on<block_reduce_problem>(g, run_block_reduce<block_reduce_naive>);
  p.matmul = on<matmul_problem>(g, run_matmul);
  p.histogram = on<histogram_problem>(g, run_histogram);
  p.barrier = on<barrier_problem>(g, run_barrier<barrier>);
  p.barrier_work = on<barrier_problem>(g, run_barrier<barrier_work>);
  p.launch = on<launch_problem>(g, run_launch<nothing>);
  p.launch_coroutine = on<launch_problem>(g, run_launch<nothing_coroutine>);
  p.launch_packet = on<launch_problem>(g, run_launch_packet);
  p.launch_straight =
      on<launch_problem>(std::make_shared<gpu>(launch_path::straight), run_launch<nothing>);
  p.item_plain = on<item_problem>(g, run_items<item_plain>);
  p.item_coroutine = on<item_problem>(g, run_items<item_coroutine>);
  p.item_plain_barrier = on<item_problem>(g, run_items<item_plain_barrier>);
  p.item_coroutine_barrier = on<item_problem>(g, run_items<item_coroutine_barrier>);
  return p;
}

} // namespace quarry::bench

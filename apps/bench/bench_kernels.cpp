// SPDX-License-Identifier: Apache-2.0
// The kernels of problems.hpp, by everybody who takes part: each is a row `kernel/who[/size]`.
#include "bench.hpp"
#include "peers.hpp"
#include "works.hpp"

#include <benchmark/benchmark.h>

#include <exception>
#include <string>
#include <vector>

namespace quarry::bench {
namespace {

template<class Work, class Problem>
void measure(benchmark::State& state, Work& work, prepare<Problem> const& make) {
  prepared const kernel = make(work.problem());
  kernel.run(); // not timed: PoCL compiles for the group size, TBB starts its threads
  for (auto _ : state)
    kernel.run();
  if (kernel.collect)
    kernel.collect();
  check(state, work.is_right(1 + static_cast<std::size_t>(state.iterations())), "wrong answer");
  work.count(state);
}

template<class Work, class Problem, class... Size>
void add(peer const& peer, std::string const& name, prepare<Problem> const& make, Size... size) {
  if (!make)
    return;
  std::string full = name + "/" + peer.who;
  ((full.append("/").append(std::to_string(size))), ...);
  auto const body = [make, size...](benchmark::State& state) {
    try {
      Work work{size...};
      measure(state, work, make);
    } catch (std::exception const& problem) {
      state.SkipWithError(problem.what());
    }
  };
  benchmark::RegisterBenchmark(full.c_str(), body)
      ->UseRealTime()
      ->Unit(sizeof...(size) == 0 ? benchmark::kMillisecond : benchmark::kMicrosecond);
}

std::vector<peer> all_peers() {
  std::vector<peer> peers{quarry_peer(), tbb_peer()};
#if QUARRY_BENCH_OPENCL
  peers.push_back(pocl_peer());
#else
  report_absent("pocl", "built without OpenCL (apt install ocl-icd-opencl-dev, meson -Dopencl)");
#endif
  return peers;
}

void add_all(std::vector<peer> const& peers) {
  // Row by row and not peer by peer: what is compared runs close together in time.
  auto const each = [&peers](auto const& add_one) {
    for (peer const& p : peers)
      if (p.absent.empty())
        add_one(p);
      else
        report_absent(p.who, p.absent);
  };
  each([](peer const& p) { add<saxpy_work>(p, "saxpy", p.saxpy); });
  each([](peer const& p) { add<saxpy_work>(p, "saxpy_prefetch", p.saxpy_prefetch); });
  each([](peer const& p) { add<block_reduce_work>(p, "block_reduce", p.block_reduce); });
  each(
      [](peer const& p) { add<block_reduce_work>(p, "block_reduce_naive", p.block_reduce_naive); });
  each([](peer const& p) { add<matmul_work>(p, "matmul", p.matmul); });
  each([](peer const& p) { add<histogram_work>(p, "histogram", p.histogram); });
  each([](peer const& p) { add<barrier_work>(p, "barrier", p.barrier); });
  each([](peer const& p) { add<barrier_lds_work>(p, "barrier_work", p.barrier_work); });
  for (std::size_t const groups : {1, 1024})
    each([groups](peer const& p) {
      add<launch_work>(p, "launch", p.launch, groups);
      add<launch_work>(p, "launch_coroutine", p.launch_coroutine, groups);
      add<launch_work>(p, "launch_packet", p.launch_packet, groups);
      add<launch_work>(p, "launch_straight", p.launch_straight, groups);
    });
  each([](peer const& p) { add<item_work>(p, "item_plain", p.item_plain); });
  each([](peer const& p) { add<item_work>(p, "item_coroutine", p.item_coroutine); });
  each([](peer const& p) { add<item_work>(p, "item_plain_barrier", p.item_plain_barrier); });
  each(
      [](peer const& p) { add<item_work>(p, "item_coroutine_barrier", p.item_coroutine_barrier); });
}

} // namespace
} // namespace quarry::bench

int main(int argc, char** argv) {
  quarry::bench::add_all(quarry::bench::all_peers());
  return quarry::bench::run(argc, argv);
}

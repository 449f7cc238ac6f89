// SPDX-License-Identifier: Apache-2.0
// What Quarry's own mechanisms cost: switches, masks, tasks. All on one thread.
#include "quarry_runtime.hpp"

#include "bench.hpp"

#include <quarry/emu.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/sync_wait.hpp>
#include <quarry/yield.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace quarry::bench {
namespace {

using namespace quarry::emu;

constexpr std::uint32_t rounds = 10'000; // of each, in one timed launch

/// An emulated GPU on the benchmark's own thread.
class small_gpu {
public:
  template<class Kernel, class... Args>
  void run(launch_config site, Kernel kernel, Args... args) {
    outcome const end = agent_.run(site, kernel, args...);
    if (auto const& fault = end.get_fault())
      throw std::runtime_error(fault->report);
  }
  template<class T>
  buffer<T> allocate(std::size_t count) {
    return agent_.allocate<T>(count);
  }

private:
  native_scheduler scheduler_{{.threads = 1}};
  basic_agent<native_targets> agent_{scheduler_};
};

std::int64_t items(benchmark::State const& state, std::int64_t per_round) {
  return static_cast<std::int64_t>(state.iterations()) * rounds * per_round;
}

/// Four wavefronts that meet at barriers: three suspend at each, the last one goes on.
struct meet {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> met) const {
    std::uint32_t count = 0;
    for (; count < rounds; ++count)
      co_await wf.barrier();
    wf.store(met + wf.global_id(), count);
  }
};

void switch_wavefronts(benchmark::State& state) {
  small_gpu gpu;
  auto met = gpu.allocate<std::uint32_t>(256);
  for (auto _ : state)
    gpu.run({.work_groups = 1}, meet{}, met.global());
  for (std::uint32_t const m : met.host())
    check(state, m == rounds, "a barrier was not passed");
  state.SetItemsProcessed(items(state, 3));
}

task<> yield_and_count(std::uint64_t& steps) {
  for (std::uint32_t i = 0; i < rounds; ++i) {
    ++steps;
    co_await yield();
  }
}

/// 64 actors of one strand, each resumed in its turn.
void switch_actors(benchmark::State& state) {
  native_scheduler scheduler({.threads = 1});
  strand place(scheduler, "place");
  std::uint64_t steps = 0;
  for (auto _ : state) {
    nursery actors;
    for (int i = 0; i < 64; ++i)
      actors.start(place, yield_and_count(steps), "actor");
    actors.wait(scheduler);
  }
  check(state, steps == static_cast<std::uint64_t>(items(state, 64)), "a resume did not run");
  state.SetItemsProcessed(items(state, 64));
}

/// `if (v < 0) v = -v; else v = ~v`, by two masked blocks, on 16 rows of LDS in turn.
struct masked_if_else {
  static constexpr int rows = 16;
  using words = lds_view<std::int32_t, rows * 64>;

  task<> operator()(any_wavefront auto& wf, global<std::int32_t const> input,
                    global<std::int32_t> output) const {
    words const data = wf.template lds<std::int32_t, rows * 64>();
    for (int row = 0; row < rows; ++row)
      wf.store(data + (wf.local_id() + row * 64), wf.load(input + (wf.local_id() + row * 64)));
    for (std::uint32_t r = 0; r < rounds; r += rows)
      all_rows(wf, data);
    for (int row = 0; row < rows; ++row)
      wf.store(output + (wf.local_id() + row * 64), wf.load(data + (wf.local_id() + row * 64)));
    co_return;
  }

  /// What it makes of a value in so many rounds.
  static std::int32_t serially(std::int32_t v) {
    for (std::uint32_t r = 0; r < rounds; r += rows)
      v = v < 0 ? -v : ~v;
    return v;
  }

private:
  static void all_rows(any_wavefront auto& wf, words data) {
    for (int row = 0; row < rows; ++row) {
      auto const at = data + (wf.local_id() + row * 64);
      auto v = wf.variable(wf.load(at));
      auto const negative = v.get() < 0;
      if (auto const active = wf.where(negative))
        v = -v.get();
      if (auto const active = wf.where(!negative))
        v = ~v.get();
      wf.store(at, v);
    }
  }
};

void masked_branches(benchmark::State& state) {
  small_gpu gpu;
  constexpr std::size_t count = std::size_t{masked_if_else::rows} * 64;
  auto input = gpu.allocate<std::int32_t>(count), output = gpu.allocate<std::int32_t>(count);
  for (std::size_t i = 0; i < count; ++i)
    input.host()[i] = static_cast<std::int32_t>(i * 2654435761U);
  for (auto _ : state)
    gpu.run({.work_groups = 1, .work_items_per_group = 64, .lds_bytes = count * 4},
            masked_if_else{}, global<std::int32_t const>(input.global()), output.global());
  for (std::size_t i = 0; i < count; ++i)
    check(state, output.host()[i] == masked_if_else::serially(input.host()[i]), "wrong value");
  state.SetItemsProcessed(items(state, 1));
}

/// The least an actor can be.
class idle_actor final : public actor {
public:
  std::string name() const override { return "actor"; }
  void on_done() noexcept override {}
};

[[gnu::noinline]] task<> count_one(std::uint64_t& count) {
  ++count;
  co_return;
}

/// Made, run to its end by an actor, destroyed.
void root_task(benchmark::State& state) {
  idle_actor self;
  std::uint64_t count = 0;
  for (auto _ : state) {
    task<> root = count_one(count);
    root.start_on(self);
    self.resume();
  }
  check(state, count == static_cast<std::uint64_t>(state.iterations()), "a task did not run");
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

[[gnu::noinline]] task<> count_at_depth(std::uint64_t& count, int depth) {
  if (depth == 0)
    ++count;
  else
    co_await count_at_depth(count, depth - 1);
}

/// One task that awaits a chain of `depth` others, again and again; an item is a chain.
void nested_awaits(benchmark::State& state, int depth) {
  idle_actor self;
  std::uint64_t count = 0;
  auto const chains = [](std::uint64_t& n, int levels) -> task<> {
    for (std::uint32_t i = 0; i < rounds; ++i)
      co_await count_at_depth(n, levels - 1);
  };
  for (auto _ : state) {
    task<> root = chains(count, depth);
    root.start_on(self);
    self.resume();
  }
  check(state, count == static_cast<std::uint64_t>(items(state, 1)), "a task did not run");
  state.SetItemsProcessed(items(state, 1));
}

} // namespace

void add_quarry_runtime() {
  benchmark::RegisterBenchmark("switch/quarry", switch_wavefronts)->UseRealTime();
  benchmark::RegisterBenchmark("switch/quarry_actor", switch_actors)->UseRealTime();
  benchmark::RegisterBenchmark("masked_if_else/quarry", masked_branches)->UseRealTime();
  benchmark::RegisterBenchmark("task/quarry", root_task)->UseRealTime();
  for (int const depth : {1, 4})
    benchmark::RegisterBenchmark(("nested_await/quarry/" + std::to_string(depth)).c_str(),
                                 nested_awaits, depth)
        ->UseRealTime();
}

} // namespace quarry::bench

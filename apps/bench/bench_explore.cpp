// SPDX-License-Identifier: Apache-2.0
// How fast `explore` runs: `explore/what`, executions or memory operations a second, everything on:
// caches, race detector, recording. Executions that have been there before count, but are not run,
// except in the rows `…_all_run`; the counter `run` says how many of a hundred are.
#include "bench.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace quarry::bench {
namespace {

using namespace quarry::emu;

struct how {
  unsigned jobs = 1;
  bool runs_repeated = false; ///< every execution is run, though it has been there before
};

/// An item is an execution.
void explore_executions(benchmark::State& state, std::function<void(world&)> const& f, how h = {}) {
  auto const batch = static_cast<std::uint64_t>(state.range(0)); // executions of an exploration
  std::uint64_t seed = 1;
  std::uint64_t run = 0;
  bool is_right = true;
  for (auto _ : state) {
    auto const v = explore({.executions = batch,
                            .jobs = h.jobs,
                            .seed = seed,
                            .runs_repeated = h.runs_repeated,
                            .keeps_failures = false},
                           f);
    run += v.executions - v.repeated;
    is_right = is_right && v && v.inconclusive == 0;
    seed += batch;
  }
  check(state, is_right, "a correct world has failed");
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batch));
  state.counters["run"] = // of a hundred executions
      100.0 * static_cast<double>(run) /
      (static_cast<double>(state.iterations()) * static_cast<double>(batch));
}

/// Two host threads, a word and a flag.
void pass_message(world& w) {
  auto words = w.allocate<std::uint64_t>(16, "words");
  auto const data = words.global(), flag = words.global() + 8;
  w.start("producer", [=](world_core& self) {
    self.store(data, 42);
    self.store(flag, 1, order::release, scope::system);
  });
  w.start("consumer", [=, &w](world_core& self) {
    if (self.load(flag, order::acquire, scope::system) == 1)
      w.check(self.load(data) == 42, "a stale word");
  });
  w.join();
}

void message_passing(benchmark::State& state) {
  explore_executions(state, pass_message);
}

void message_passing_all_run(benchmark::State& state) {
  explore_executions(state, pass_message, {.runs_repeated = true});
}

/// The same on two threads.
void message_passing_jobs(benchmark::State& state) {
  explore_executions(state, pass_message, {.jobs = 2, .runs_repeated = true});
}

/// The SPSC queue of emu: two elements through a ring of two slots.
void pass_two_elements(world& w) {
  using queue = spsc_queue<std::uint64_t, 1>;
  queue q(w.known(), 2);
  w.start_task("producer", [&q](world_core& self) -> task<> {
    for (std::uint64_t i = 1; i <= 2; ++i) {
      auto reserved = q.reserve(self);
      auto const slot = co_await std::move(reserved);
      self.store(slot, i);
      q.publish(self);
    }
  });
  w.start_task("consumer", [&q, &w](world_core& self) -> task<> {
    for (std::uint64_t i = 1; i <= 2; ++i) {
      auto peeked = q.peek(self);
      auto const slot = co_await std::move(peeked);
      w.check(self.load(slot) == i, "out of order");
      q.release(self);
    }
  });
  w.join();
}

void spsc_ring(benchmark::State& state) {
  explore_executions(state, pass_two_elements);
}

/// On two threads.
void spsc_ring_jobs(benchmark::State& state) {
  explore_executions(state, pass_two_elements, {.jobs = 2});
}

void spsc_ring_all_run(benchmark::State& state) {
  explore_executions(state, pass_two_elements, {.runs_repeated = true});
}

constexpr std::uint64_t operation_count = 4'000;

/// One execution of many operations; an item is an operation.
void explore_operations(benchmark::State& state, std::uint64_t operations,
                        std::function<void(world&)> const& f) {
  std::uint64_t seed = 1;
  bool is_right = true;
  for (auto _ : state) {
    auto const v = explore(
        {.executions = 10, .seed = seed, .most_decisions = 1'000'000, .keeps_failures = false}, f);
    is_right = is_right && v && v.inconclusive == 0;
    seed += 10;
  }
  check(state, is_right, "a correct world has failed");
  state.SetItemsProcessed(state.iterations() * 10 * static_cast<std::int64_t>(operations));
}

/// Two actors, a few words each.
void scalar_operation(benchmark::State& state) {
  explore_operations(state, operation_count, [](world& w) {
    auto words = w.allocate<std::uint64_t>(32, "words");
    for (std::size_t who = 0; who < 2; ++who)
      w.start("worker", [at = words.global() + 16 * who](world_core& self) {
        for (std::size_t i = 0; i < operation_count / 4; ++i)
          self.store(at + i % 4, self.load(at + (i + 1) % 4) + 1);
      });
    w.join();
  });
}

struct lane_worker {
  template<any_wavefront W>
  task<> operator()(W& wf, global<std::uint32_t> words, std::uint64_t rounds) const {
    auto const i = wf.global_id();
    for (std::uint64_t n = 0; n < rounds; ++n)
      wf.store(words + i, wf.load(words + i) + 1U);
    co_return;
  }
};

/// Plain loads and stores of whole wavefronts of 64 lanes, so many in an execution.
void lane_operation(benchmark::State& state) {
  auto const operations = static_cast<std::uint64_t>(state.range(0));
  explore_operations(state, operations, [operations](world& w) {
    agent gpu(w.scheduler(), {.compute_units = 2, .wavefront_size = 64});
    auto words = gpu.allocate<std::uint32_t>(128, "words");
    auto const result = gpu.run({.work_groups = 2, .work_items_per_group = 64}, lane_worker{},
                                words.global(), operations / 4);
    w.check(static_cast<bool>(result), "the kernel has failed");
  });
}

/// Treiber's stack of three nodes, whose head has no tag: two threads pop two and push one back.
/// All is seq_cst: what goes wrong does so by interleaving.
void treiber_stack(world& w) {
  constexpr std::uint32_t nodes = 3, none = 0; // nodes are 1, 2, 3
  auto words = w.allocate<std::uint32_t>(nodes + 1, "stack");
  auto const head = words.global(), next = words.global();
  for (std::uint32_t n = 1; n <= nodes; ++n)
    w.host().store(next + n, n == nodes ? none : n + 1);
  w.host().store(head, 1);
  bool is_held[nodes + 1]{};
  auto const pop = [&](world_core& self) {
    for (;;) {
      std::uint32_t top = self.load(head, order::seq_cst, scope::system);
      if (top == none)
        return none;
      auto const below = self.load(next + top, order::seq_cst, scope::system);
      if (self.compare_exchange(head, top, below, order::seq_cst, scope::system)) {
        w.check(!std::exchange(is_held[top], true), "a node is popped twice");
        return top;
      }
    }
  };
  auto const push = [&](world_core& self, std::uint32_t n) {
    is_held[n] = false;
    std::uint32_t top = self.load(head, order::seq_cst, scope::system);
    do
      self.store(next + n, top, order::seq_cst, scope::system);
    while (!self.compare_exchange(head, top, n, order::seq_cst, scope::system));
  };
  for (char const* const name : {"one", "two"})
    w.start(name, [&](world_core& self) {
      auto const first = pop(self);
      auto const second = pop(self);
      if (first != none)
        push(self, first);
      static_cast<void>(second);
    });
  w.join();
}

/// How many executions until the ABA of that stack is found, of 100 seeds.
void treiber_aba(benchmark::State& state) {
  std::vector<std::uint64_t> needed;
  for (auto _ : state) {
    needed.clear();
    for (std::uint64_t run = 0; run < 100; ++run) {
      auto const v = explore({.executions = 100'000,
                              .seed = 1 + run * 1'000'000'007,
                              .shrinks = false,
                              .diagnoses = false,
                              .keeps_failures = false},
                             treiber_stack);
      if (v.failure)
        needed.push_back(v.failure->execution);
    }
  }
  check(state, needed.size() == 100, "the ABA was not found");
  if (needed.empty())
    return;
  std::sort(needed.begin(), needed.end());
  state.counters["median_executions"] = static_cast<double>(needed[needed.size() / 2]);
  state.counters["p90_executions"] = static_cast<double>(needed[needed.size() * 9 / 10]);
}

} // namespace
} // namespace quarry::bench

int main(int argc, char** argv) {
  using namespace quarry::bench;
  auto const add = [](char const* name, void (*f)(benchmark::State&)) {
    return benchmark::RegisterBenchmark(name, f)->UseRealTime()->Unit(benchmark::kMillisecond);
  };
  constexpr std::int64_t few = 20'000, many = 1'000'000;
  add("explore/message_passing", message_passing)->Arg(few);
  add("explore/message_passing_all_run", message_passing_all_run)->Arg(few);
  add("explore/message_passing_all_run_jobs_2", message_passing_jobs)->Arg(few);
  add("explore/spsc_ring", spsc_ring)->Arg(few)->Arg(many);
  add("explore/spsc_ring_jobs_2", spsc_ring_jobs)->Arg(few)->Arg(many);
  add("explore/spsc_ring_all_run", spsc_ring_all_run)->Arg(few);
  add("explore/scalar_operation", scalar_operation);
  add("explore/lane_operation", lane_operation)->Arg(200)->Arg(operation_count);
  add("explore/treiber_aba", treiber_aba);
  return run(argc, argv);
}

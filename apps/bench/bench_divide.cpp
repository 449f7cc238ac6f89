// SPDX-License-Identifier: Apache-2.0
// The thesis's divide-and-conquer programs (§4.5.1), serially, on tbb::task_group, in Cilk on
// channels, and as kernels without channels: `fibonacci/who/<n>`, `queens/who/<rows>`,
// `sort/who/<values>`, `strassen/who/<rows>`. An item is a call, a board of the recursion, a value,
// and a multiplication or addition of the n^3 algorithm.
#include "bench.hpp"
#include "peer_divide.hpp"

#include <quarry/emu.hpp>
#include <quarry/native_scheduler.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <fibonacci/flow_graph.hpp>
#include <fibonacci/kernel.hpp>
#include <fibonacci/reference.hpp>
#include <queens/flattened.hpp>
#include <queens/kernel.hpp>
#include <queens/reference.hpp>
#include <sort/bitonic.hpp>
#include <sort/kernel.hpp>
#include <sort/reference.hpp>
#include <strassen/kernel.hpp>
#include <strassen/reference.hpp>
#include <strassen/tiled.hpp>
#include <string>
#include <vector>

namespace quarry::bench {
namespace {

using gpu = emu::basic_agent<emu::native_targets>;

/// A GPU and a function on its channels.
template<class F>
class on_channels {
public:
  on_channels(std::uint32_t depth, std::uint32_t width, emu::traversal order)
      : agent_(scheduler_), program_(agent_, {.depth = depth, .width = width, .order = order}) {}
  auto operator()(F const& root) {
    program_.run(root).or_throw();
    return program_.root_result();
  }
  [[nodiscard]] gpu& agent() noexcept { return agent_; }

private:
  native_scheduler scheduler_;
  gpu agent_;
  emu::cilk<F, emu::native_targets> program_;
};
using emu::traversal;

template<class Number>
void fibonacci_rows(benchmark::State& state, std::uint32_t n, Number const& number) {
  std::uint64_t found = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(found = number(n));
  check(state, found == fibonacci::number(n), "that is not the Fibonacci number");
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(fibonacci::calls(n)));
}

void fibonacci_channels(benchmark::State& state, std::uint32_t n, traversal order) {
  on_channels<fibonacci::call> call(fibonacci::call::depth(n), 32768, order);
  fibonacci_rows(state, n, [&](std::uint32_t of) { return call({of}); });
}

/// Breadth first: the channel holds the widest level.
void fibonacci_graph(benchmark::State& state, std::uint32_t n) {
  native_scheduler scheduler;
  gpu agent(scheduler);
  fibonacci::naive_graph<emu::native_targets> graph(agent, {.width = 65536});
  fibonacci_rows(state, n, [&](std::uint32_t of) {
    graph.run(of).or_throw();
    return graph.result();
  });
}

template<class Count>
void queens_rows(benchmark::State& state, std::uint32_t size, Count const& count) {
  std::uint64_t found = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(found = count(size));
  check(state, found == queens::reference(size), "that is not the number of solutions");
  state.SetItemsProcessed(
      static_cast<std::int64_t>(state.iterations()) *
      static_cast<std::int64_t>(queens::tasks({}, size, queens::full_row(size))));
}

void queens_flattened(benchmark::State& state, std::uint32_t size) {
  native_scheduler scheduler;
  gpu agent(scheduler);
  queens_rows(state, size, [&](std::uint32_t n) { return queens::count_flattened(agent, n); });
}

void queens_channels(benchmark::State& state, std::uint32_t size, traversal order) {
  on_channels<queens::call> call(queens::call::depth(size), 16384, order);
  queens_rows(state, size, [&](std::uint32_t n) { return call({{}, n, queens::full_row(n)}); });
}

template<class Sort>
void sort_rows(benchmark::State& state, std::size_t count, Sort const& sort_them) {
  auto const values = sort::values(count, 1);
  std::vector<std::uint32_t> sorted;
  std::vector<std::uint32_t> spare(count);
  for (auto _ : state) {
    state.PauseTiming();
    sorted = values;
    state.ResumeTiming();
    sort_them(sorted, spare);
  }
  check(state, sorted == sort::reference(values), "not in order");
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(count));
}

void sort_bitonic(benchmark::State& state, std::size_t count) {
  native_scheduler scheduler;
  gpu agent(scheduler);
  auto const values = sort::values(count, 1);
  auto on_gpu = sort::bitonic_values(agent, values);
  for (auto _ : state) {
    state.PauseTiming();
    std::ranges::copy(values, on_gpu.host().begin());
    std::fill(on_gpu.host().begin() + static_cast<std::ptrdiff_t>(count), on_gpu.host().end(),
              ~std::uint32_t{0});
    state.ResumeTiming();
    sort::sort_bitonic(agent, on_gpu);
  }
  check(state, std::ranges::equal(on_gpu.host().first(count), sort::reference(values)),
        "not in order");
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(count));
}

void sort_channels(benchmark::State& state, std::size_t count, traversal order) {
  on_channels<sort::call> call(sort::call::depth(count), 8192, order);
  sort_rows(state, count, [&](auto& values, auto& spare) {
    auto const known = call.agent().expose(values.data(), count, "values");
    auto const spare_known = call.agent().expose(spare.data(), count, "spare");
    call(sort::call::sorting(emu::global(values.data()), emu::global(spare.data()),
                             static_cast<std::uint32_t>(count)));
  });
}

template<class Multiply>
void strassen_rows(benchmark::State& state, std::uint32_t n, Multiply const& multiply) {
  auto a = strassen::matrix(n, 1);
  auto b = strassen::matrix(n, 2);
  std::vector<float> c(a.size());
  for (auto _ : state) {
    std::ranges::fill(c, 0.0F);
    multiply(a, b, c, n);
  }
  check(state, c == strassen::reference(a, b, n), "that is not the product");
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * 2 * n * n * n);
}

using matrix = std::vector<float>;

void strassen_serial(matrix& a, matrix& b, matrix& c, std::uint32_t n) {
  strassen::add_product_by_strassen({a.data(), n, n}, {b.data(), n, n}, {c.data(), n, n});
}
void strassen_tbb(matrix& a, matrix& b, matrix& c, std::uint32_t n) {
  strassen_by_tasks({a.data(), n, n}, {b.data(), n, n}, {c.data(), n, n});
}
void strassen_tbb_quadrants(matrix& a, matrix& b, matrix& c, std::uint32_t n) {
  quadrants_by_tasks({a.data(), n, n}, {b.data(), n, n}, {c.data(), n, n});
}
void strassen_tiled(benchmark::State& state, std::uint32_t size) {
  native_scheduler scheduler;
  gpu agent(scheduler);
  strassen_rows(state, size, [&](matrix& a, matrix& b, matrix& c, std::uint32_t n) {
    auto const a_known = agent.expose(a.data(), a.size(), "a");
    auto const b_known = agent.expose(b.data(), b.size(), "b");
    auto const c_known = agent.expose(c.data(), c.size(), "c");
    strassen::multiply_tiled(agent, emu::global<float const>(a.data()),
                             emu::global<float const>(b.data()), emu::global<float>(c.data()), n);
  });
}

void strassen_channels(benchmark::State& state, std::uint32_t size, traversal order) {
  on_channels<strassen::call> call(strassen::call::depth(size), 8192, order);
  strassen_rows(state, size, [&](matrix& a, matrix& b, matrix& c, std::uint32_t n) {
    auto const a_known = call.agent().expose(a.data(), a.size(), "a");
    auto const b_known = call.agent().expose(b.data(), b.size(), "b");
    auto const c_known = call.agent().expose(c.data(), c.size(), "c");
    call({{emu::global(a.data()), n}, {emu::global(b.data()), n}, {emu::global(c.data()), n}, n});
  });
}

/// Who walks the tree of calls in both ways.
template<class F>
void add_traversals(std::string const& kernel, std::size_t size, F const& f) {
  add(kernel, "channels", size, [=](benchmark::State& s) { f(s, size, traversal::help_first); });
  add(kernel, "hybrid", size, [=](benchmark::State& s) { f(s, size, traversal::hybrid); });
}
void add_fibonacci(std::uint32_t n) {
  add("fibonacci", "serial", n,
      [=](benchmark::State& s) { fibonacci_rows(s, n, fibonacci::reference); });
  add("fibonacci", "tbb", n,
      [=](benchmark::State& s) { fibonacci_rows(s, n, fibonacci_by_tasks); });
  add_traversals("fibonacci", n, fibonacci_channels);
}
void add_queens(std::uint32_t size) {
  add("queens", "serial", size,
      [=](benchmark::State& s) { queens_rows(s, size, queens::reference); });
  add("queens", "tbb", size, [=](benchmark::State& s) {
    queens_rows(s, size,
                [](std::uint32_t n) { return queens_by_tasks({}, n, queens::full_row(n)); });
  });
  add_traversals("queens", size, queens_channels);
  add("queens", "flattened", size, [=](benchmark::State& s) { queens_flattened(s, size); });
}
void add_sort(std::size_t count) {
  add("sort", "serial", count, [=](benchmark::State& s) {
    sort_rows(s, count, [](auto& values, auto& spare) { sort::sort_serially(values, spare); });
  });
  add("sort", "tbb", count, [=](benchmark::State& s) {
    sort_rows(s, count, [](auto& values, auto& spare) { sort_by_tasks(values, spare); });
  });
  add_traversals("sort", count, sort_channels);
  add("sort", "bitonic", count, [=](benchmark::State& s) { sort_bitonic(s, count); });
}
void add_strassen(std::uint32_t n) {
  add("strassen", "serial", n, [=](benchmark::State& s) { strassen_rows(s, n, strassen_serial); });
  add("strassen", "tbb", n, [=](benchmark::State& s) { strassen_rows(s, n, strassen_tbb); });
  add("strassen", "tbb_quadrants", n,
      [=](benchmark::State& s) { strassen_rows(s, n, strassen_tbb_quadrants); });
  add_traversals("strassen", n, strassen_channels);
  add("strassen", "tiled", n, [=](benchmark::State& s) { strassen_tiled(s, n); });
}

} // namespace
} // namespace quarry::bench

int main(int argc, char** argv) {
  using namespace quarry::bench;
  add("fibonacci", "graph", 24, [](benchmark::State& s) { fibonacci_graph(s, 24); });
  for (std::uint32_t const n : {24U, 30U, 35U})
    add_fibonacci(n);
  for (std::uint32_t const size : {12U, 13U})
    add_queens(size);
  for (std::size_t const count : {1'000'000U, 10'000'000U})
    add_sort(count);
  for (std::uint32_t const n : {512U, 1024U})
    add_strassen(n);
  return run(argc, argv);
}

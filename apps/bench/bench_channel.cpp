// SPDX-License-Identifier: Apache-2.0
// Channels: `channel/quarry/<bytes>`, an item is an element's talloc, enq, deq and tfree; and the
// naive Fibonacci as a flow graph, `fibonacci/who/<n>`, an item is a call.
#include "bench.hpp"

#include <quarry/emu.hpp>
#include <quarry/quarry.hpp>

#include <benchmark/benchmark.h>
#include <tbb/task_group.h>

#include <cstddef>
#include <cstdint>
#include <fibonacci/flow_graph.hpp>
#include <functional>
#include <stdexcept>

namespace quarry::bench {
namespace {

using namespace quarry::emu;

using gpu = basic_agent<native_targets>;

void finish(channel_graph<native_targets>& g) {
  outcome const end = g.wait_for_done();
  if (auto const& fault = end.get_fault())
    throw std::runtime_error(fault->report);
}

template<std::size_t Bytes>
struct parcel;
template<>
struct parcel<4> {
  std::uint32_t hops;
};
template<>
struct parcel<16> {
  std::uint32_t hops, a, b, c;
};

/// Hands each element on, until it has made its hops.
template<std::size_t Bytes>
struct relay {
  using element = parcel<Bytes>;
  template<any_wavefront W>
  task<> operator()(W& wf, auto& src, channel<element>& dest) const {
    auto const hops = src.load(&element::hops);
    typename W::template lanes<std::uint32_t> rest[3];
    if constexpr (Bytes == 16) {
      rest[0] = src.load(&element::a);
      rest[1] = src.load(&element::b);
      rest[2] = src.load(&element::c);
    }
    src.tfree();
    auto const more = wf.where(hops > 1U);
    auto const fill = [&](wave_elements<W::size> const& e) {
      wf.store(dest.at(e, 0, &element::hops), hops - 1U);
      if constexpr (Bytes == 16) {
        wf.store(dest.at(e, 0, &element::a), rest[0]);
        wf.store(dest.at(e, 0, &element::b), rest[1]);
        wf.store(dest.at(e, 0, &element::c), rest[2]);
      }
    };
    task<> sent = dest.send(wf, typename W::template lanes<std::uint32_t>(1), fill);
    co_await std::move(sent);
  }
};

template<std::size_t Bytes>
void relays(benchmark::State& state) {
  constexpr std::uint32_t elements = 8192, hops = 100;
  native_scheduler scheduler;
  gpu agent(scheduler);
  channel_graph g(agent);
  auto& ch = g.template add_channel<parcel<Bytes>>({.width = 32768});
  g.connect(ch, relay<Bytes>{}, std::ref(ch));
  parcel<Bytes> first{};
  first.hops = hops;
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < elements; ++i)
      g.put(ch, first);
    g.execute();
    finish(g);
  }
  auto const items = static_cast<std::int64_t>(state.iterations()) * elements * hops;
  check(state, g.totals().elements == static_cast<std::uint64_t>(items), "elements were lost");
  state.SetItemsProcessed(items);
}

std::uint64_t serially(std::uint32_t n) {
  return n <= 2 ? 1 : serially(n - 1) + serially(n - 2);
}
std::uint64_t by_tasks(std::uint32_t n) {
  if (n <= 2)
    return 1;
  std::uint64_t x = 0;
  tbb::task_group group;
  group.run([&] { x = by_tasks(n - 1); });
  std::uint64_t const y = by_tasks(n - 2);
  group.wait();
  return x + y;
}

void count_calls(benchmark::State& state, std::uint64_t result, std::uint32_t n) {
  check(state, result == serially(n), "that is not the Fibonacci number");
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(2 * serially(n) - 1));
}

void fibonacci_on_channels(benchmark::State& state, std::uint32_t n) {
  native_scheduler scheduler;
  gpu agent(scheduler);
  auto result = agent.allocate<std::uint32_t>(1);
  channel_graph g(agent);
  auto& numbers = g.add_channel<fibonacci::term>({.width = 65536});
  g.connect(numbers, fibonacci::naive_kernel{}, std::ref(numbers), result.global());
  for (auto _ : state) {
    result.host()[0] = 0;
    g.put(numbers, {n});
    g.execute();
    finish(g);
  }
  count_calls(state, result.host()[0], n);
}

template<class F>
void fibonacci(benchmark::State& state, std::uint32_t n, F const& f) {
  std::uint64_t result = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(result = f(n));
  count_calls(state, result, n);
}

} // namespace
} // namespace quarry::bench

int main(int argc, char** argv) {
  using namespace quarry::bench;
  add("channel", "quarry", 4, relays<4>);
  add("channel", "quarry", 16, relays<16>);
  // Breadth first: it must hold the widest level.
  add("fibonacci", "channel", 24, [](benchmark::State& s) { fibonacci_on_channels(s, 24); });
  for (std::uint32_t const n : {24U, 30U, 35U}) {
    add("fibonacci", "tbb", n, [=](benchmark::State& s) { fibonacci(s, n, by_tasks); });
    add("fibonacci", "serial", n, [=](benchmark::State& s) { fibonacci(s, n, serially); });
  }
  return quarry::bench::run(argc, argv);
}

// SPDX-License-Identifier: Apache-2.0
// Elements that are handed on a hundred times: `relay/who/<bytes>`. With a channel an item is an
// element's talloc, enq, deq and tfree, 64 of which share a reservation; with a queue a push and a
// pop.
#include "bench.hpp"

#include <quarry/emu.hpp>
#include <quarry/quarry.hpp>

#include <benchmark/benchmark.h>
#include <boost/lockfree/queue.hpp>
#include <tbb/concurrent_queue.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace quarry::bench {
namespace {

using namespace quarry::emu;

constexpr std::uint32_t elements = 8192, hops = 100;

/// Words as members of their own, which is how a kernel names them.
template<std::size_t I>
struct word {
  std::uint32_t value;
};
template<class Indices>
struct words;
template<std::size_t... I>
struct words<std::index_sequence<I...>> : word<I>... {};
template<std::size_t Bytes>
struct parcel : words<std::make_index_sequence<Bytes / 4>> {};

/// Word I of an element.
template<std::size_t Bytes, std::size_t I>
constexpr std::uint32_t parcel<Bytes>::* member = &word<I>::value;

template<std::size_t Bytes>
parcel<Bytes> first_parcel() {
  parcel<Bytes> p{};
  p.*member<Bytes, 0> = hops;
  return p;
}

/// Hands each element on, whole, until it has made its hops.
template<std::size_t Bytes>
struct relay {
  using element = parcel<Bytes>;
  template<any_wavefront W>
  task<> operator()(W& wf, auto& src, channel<element>& dest) const {
    auto const left = src.load(member<Bytes, 0>);
    auto const more = wf.where(left > 1U);
    auto const fill = [&](wave_elements<W::size> const& e) {
      wf.store(dest.at(e, 0, member<Bytes, 0>), left - 1U);
      copy(wf, src, dest, e, std::make_index_sequence<Bytes / 4 - 1>());
    };
    task<> sent = dest.send(wf, typename W::template lanes<std::uint32_t>(1), fill);
    co_await std::move(sent);
  }

private:
  template<class W, std::size_t... I>
  static void copy(W& wf, auto& src, channel<element>& dest, wave_elements<W::size> const& e,
                   std::index_sequence<I...>) {
    (wf.store(dest.at(e, 0, member<Bytes, I + 1>), src.load(member<Bytes, I + 1>)), ...);
  }
};

std::int64_t items(benchmark::State const& state) {
  return static_cast<std::int64_t>(state.iterations()) * elements * hops;
}

template<std::size_t Bytes>
void by_channel(benchmark::State& state) {
  native_scheduler scheduler;
  basic_agent<native_targets> agent(scheduler);
  channel_graph g(agent);
  auto& ch = g.template add_channel<parcel<Bytes>>({.width = 4 * elements});
  g.connect(ch, relay<Bytes>{}, std::ref(ch));
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < elements; ++i)
      g.put(ch, first_parcel<Bytes>());
    g.execute();
    outcome const end = g.wait_for_done();
    if (auto const& fault = end.get_fault())
      throw std::runtime_error(fault->report);
  }
  check(state, g.totals().elements == static_cast<std::uint64_t>(items(state)),
        "elements were lost");
  state.SetItemsProcessed(items(state));
  state.counters["elements_per_dispatch"] =
      static_cast<double>(g.totals().elements) / static_cast<double>(g.totals().dispatches);
}

/// Everybody takes an element, and puts it back with a hop less, until none is left.
template<class Pop, class Push>
std::uint64_t hand_on(Pop const& pop, Push const& push) {
  std::atomic<std::uint64_t> hopped{0};
  auto const work = [&] {
    while (hopped.load(std::memory_order_relaxed) < std::uint64_t{elements} * hops) {
      std::uint64_t mine = 0; // told now and then: everybody adds to the same counter
      while (mine < 256 && pop(push))
        ++mine;
      if (mine != 0)
        hopped.fetch_add(mine, std::memory_order_relaxed);
    }
  };
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i)
    others.emplace_back(work);
  work();
  others.clear();
  return hopped.load();
}

template<std::size_t Bytes, class Queue>
void by_queue(benchmark::State& state) {
  Queue queue(elements);
  std::uint64_t handed_on = 0;
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < elements; ++i)
      queue.push(first_parcel<Bytes>());
    handed_on += hand_on(
        [&](auto const& push) {
          parcel<Bytes> p;
          p.*member<Bytes, 0> = 0; // or g++ warns of what try_pop() leaves alone
          if (!queue.try_pop(p))
            return false;
          if (--(p.*member<Bytes, 0>) != 0)
            push(p);
          return true;
        },
        [&](parcel<Bytes> const& p) { queue.push(p); });
  }
  check(state, handed_on == static_cast<std::uint64_t>(items(state)), "elements were lost");
  state.SetItemsProcessed(items(state));
}

template<std::size_t Bytes>
struct tbb_queue : tbb::concurrent_bounded_queue<parcel<Bytes>> {
  explicit tbb_queue(std::size_t) {}
};
template<std::size_t Bytes>
struct boost_queue {
  explicit boost_queue(std::size_t count) : queue(count) {}
  void push(parcel<Bytes> const& p) {
    while (!queue.bounded_push(p))
      std::this_thread::yield();
  }
  bool try_pop(parcel<Bytes>& p) { return queue.pop(p); }
  boost::lockfree::queue<parcel<Bytes>> queue;
};

template<std::size_t Bytes>
void add_rows() {
  auto const add = [](char const* who, void (*run)(benchmark::State&)) {
    auto const name = std::string("relay/") + who + '/' + std::to_string(Bytes);
    benchmark::RegisterBenchmark(name.c_str(), run)->UseRealTime();
  };
  add("channel", by_channel<Bytes>);
  add("tbb", by_queue<Bytes, tbb_queue<Bytes>>);
  add("boost", by_queue<Bytes, boost_queue<Bytes>>);
}

} // namespace
} // namespace quarry::bench

int main(int argc, char** argv) {
  quarry::bench::add_rows<4>();
  quarry::bench::add_rows<16>();
  quarry::bench::add_rows<64>();
  quarry::bench::add_rows<256>();
  return quarry::bench::run(argc, argv);
}

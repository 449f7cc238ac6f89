// SPDX-License-Identifier: Apache-2.0
// Gravel end to end: kernels on two nodes, aggregators and network interfaces, in one process.
#include "few_nodes.hpp"
#include "targets.hpp"

#include <fmt/core.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace quarry::exploration {
namespace {

using namespace quarry::emu;
using namespace quarry::net;

constexpr std::uint32_t messages = 2; // from each node
constexpr std::size_t heap_words = 8;

/// Work-item i adds i + 1 to word i of node i: one message stays, one crosses the network.
struct scatter {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words,
                    gravel::endpoint& net) const {
    using w = std::remove_reference_t<decltype(wf)>;
    auto const i = gravel::as_words<w>(wf.global_id());
    auto const few = wf.where(i < std::uint64_t{messages});
    task<> sent = net.add(wf, words + i, i + 1, i % std::uint64_t{nodes});
    co_await std::move(sent);
  }
};

/// The kernel on both nodes; afterwards word i of node w has to be as `expected` says.
template<class Kernel, class Expected>
void run_on_nodes(world& w, gravel::gravel_node::options const& o, launch_config const& c,
                  Kernel kernel, Expected const& expected) {
  std::array<std::vector<std::uint64_t>, nodes> heaps;
  heaps.fill(std::vector<std::uint64_t>(heap_words));
  run_nodes(w, [&](std::uint32_t id, std::unique_ptr<in_process> end, world_core&) {
    explored_agent gpu(w.scheduler(), node_machine);
    gravel::gravel_node net(gpu.core(), std::move(end), heaps[id], o);
    static_cast<void>(
        gpu.run(c, kernel, global<std::uint64_t>(heaps[id].data()), std::ref(net.device())));
    auto const done = net.finish();
    w.check(static_cast<bool>(done), done ? "" : done.error().what);
  });
  for (std::uint32_t id = 0; id < nodes; ++id)
    for (std::uint32_t i = 0; i < heap_words; ++i)
      w.check(heaps[id][i] == expected(id, i),
              fmt::format("a message was lost, or came twice: word {} of node {} is {}, not {}", i,
                          id, heaps[id][i], expected(id, i)));
}

void run_gravel(world& w, weakening const*) {
  run_on_nodes(w, node_options, {.work_items = 32, .work_items_per_group = 32}, scatter{},
               [](std::uint32_t id, std::uint32_t i) -> std::uint64_t {
                 return i < messages && i % nodes == id ? nodes * (i + 1) : 0;
               });
}

/// Two wavefronts send to node 1 three times: its buffer has room for two messages.
struct send_directly {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words,
                    gravel::endpoint& net) const {
    using w = std::remove_reference_t<decltype(wf)>;
    auto const first = wf.where(wf.local_id() == 0);
    lanes<std::uint64_t, w::size> const one(1);
    for (std::uint64_t i = 0; i < rounds; ++i) {
      auto const to = gravel::as_words<w>(wf.global_id()) / std::uint64_t{32} + i;
      task<> sent = net.add(wf, words + to, one, one);
      co_await std::move(sent);
    }
  }
  static constexpr std::uint64_t rounds = 3;
};

void run_gravel_direct(world& w, weakening const* weak) {
  auto o = node_options;
  o.style = gravel::simt_direct::name;
  o.direct = weakened<gravel::direct_orders>(weak);
  constexpr std::uint32_t groups = 2;
  run_on_nodes(w, o, {.work_items = 32 * groups, .work_items_per_group = 32}, send_directly{},
               [](std::uint32_t id, std::uint32_t i) -> std::uint64_t {
                 std::uint64_t sum = 0;
                 for (std::uint32_t g = 0; id == 1 && g < groups; ++g)
                   sum += i >= g && i < g + send_directly::rounds ? nodes : 0;
                 return sum;
               });
}

} // namespace

target gravel_target() {
  return {.name = "gravel",
          .what = "two nodes in one process: kernels, aggregators, network interfaces; every word "
                  "is checked",
          .weakenings = {},
          .run = run_gravel,
          .most_decisions = 100'000};
}

target gravel_direct_target() {
  return {.name = "gravel-direct",
          .what = "two nodes in one process, whose wavefronts write into per-node buffers "
                  "themselves (SIMT-direct); every word is checked",
          .weakenings = weakenings_of<gravel::direct_orders>(),
          .run = run_gravel_direct,
          .most_decisions = 100'000};
}

} // namespace quarry::exploration

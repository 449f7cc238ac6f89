// SPDX-License-Identifier: Apache-2.0
// Gravel end to end: kernels on two nodes, aggregators and network interfaces, in one process.
#include "targets.hpp"
#include "two_nodes.hpp"

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

void run_gravel(world& w, weakening const*) {
  std::array<std::vector<std::uint64_t>, nodes> heaps;
  heaps.fill(std::vector<std::uint64_t>(heap_words));
  run_nodes(w, [&](std::uint32_t id, std::unique_ptr<in_process> end) {
    agent gpu(w.scheduler(), node_machine);
    gravel::gravel_node net(gpu.core(), std::move(end), heaps[id], node_options);
    static_cast<void>(gpu.run({.work_items = 32, .work_items_per_group = 32}, scatter{},
                              global<std::uint64_t>(heaps[id].data()), std::ref(net.device())));
    auto const done = net.finish();
    w.check(static_cast<bool>(done), done ? "" : done.error().what);
  });
  for (std::uint32_t id = 0; id < nodes; ++id)
    for (std::uint32_t i = 0; i < heap_words; ++i)
      w.check(heaps[id][i] == (i < messages && i % nodes == id ? nodes * (i + 1) : 0),
              "a message was lost, or came twice");
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

} // namespace quarry::exploration

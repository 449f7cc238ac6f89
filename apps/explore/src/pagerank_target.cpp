// SPDX-License-Identifier: Apache-2.0
// PageRank's own kernels on a small graph and two nodes, against the serial ranks.
#include "../../pagerank/kernel.hpp"
#include "../../pagerank/reference.hpp"
#include "few_nodes.hpp"
#include "targets.hpp"

#include <quarry/graph/csr.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace quarry::exploration {
namespace {

using namespace quarry::emu;
using namespace quarry::net;
using pagerank::fixed;

constexpr std::uint32_t vertices = 4; // two on each node; the last one has no out-edges
constexpr std::uint32_t rounds = 2;

graph::csr_graph small_graph() {
  constexpr std::array<graph::edge, 5> edges{{{0, 1}, {0, 2}, {1, 3}, {2, 0}, {2, 3}}};
  return *graph::make_csr(vertices, edges);
}

/// One node: its rows of the graph, and its rounds.
void run_node(world& w, std::uint32_t id, std::unique_ptr<in_process> end, std::span<fixed> next,
              graph::csr_graph const& all, std::vector<fixed>& ranks) {
  constexpr std::uint32_t own = vertices / nodes;
  explored_agent gpu(w.scheduler(), node_machine);
  gravel::gravel_node net(gpu.core(), std::move(end), next, node_options);
  auto offsets = gpu.allocate<std::uint32_t>(own + 1, "offsets");
  auto targets = gpu.allocate<std::uint32_t>(all.targets.size(), "targets");
  auto rank = gpu.allocate<fixed>(own, "rank");
  auto dangling = gpu.allocate<fixed>(1, "dangling");
  std::copy(all.targets.begin(), all.targets.end(), targets.host().begin());
  for (std::uint32_t v = 0; v <= own; ++v)
    offsets.host()[v] = static_cast<std::uint32_t>(all.offsets[id * own + v]);
  for (std::uint32_t v = 0; v < own; ++v) {
    rank.host()[v] = pagerank::one / vertices;
    dangling.host()[0] += all.out_degree(id * own + v) == 0 ? pagerank::one / vertices : 0;
  }
  pagerank::slice_view const view{offsets.global(), targets.global(), own, own};
  launch_config const config{.work_items = own, .work_items_per_group = 32};
  global<fixed const> const before = rank.global();
  for (std::uint32_t round = 0; round < rounds; ++round) {
    auto const held = net.all_sum(dangling.host()[0]);
    static_cast<void>(gpu.run(config, pagerank::push_wave{}, view, before,
                              global<fixed>(next.data()), std::ref(net.device())));
    auto const applied = net.barrier();
    w.check(held && applied, "a collective has failed");
    if (!held)
      return;
    dangling.host()[0] = 0;
    static_cast<void>(gpu.run(config, pagerank::finish_round{}, view, rank.global(),
                              global<fixed>(next.data()), pagerank::base_rank(*held, vertices),
                              dangling.global()));
  }
  std::copy(rank.host().begin(), rank.host().end(), ranks.begin() + std::ptrdiff_t{id} * own);
  w.check(static_cast<bool>(net.finish()), "a node did not end well");
}

void run_pagerank(world& w, weakening const*) {
  auto const all = small_graph();
  std::array<std::vector<fixed>, nodes> next;
  next.fill(std::vector<fixed>(vertices / nodes));
  std::vector<fixed> ranks(vertices);
  run_nodes(w, [&](std::uint32_t id, std::unique_ptr<in_process> end, world_core&) {
    run_node(w, id, std::move(end), next[id], all, ranks);
  });
  w.check(ranks == pagerank::reference(all, rounds), "the ranks are not the serial ones");
}

} // namespace

target pagerank_target() {
  return {.name = "pagerank",
          .what = "two rounds on four vertices and two nodes, through Gravel; the ranks are the "
                  "serial ones",
          .weakenings = {},
          .run = run_pagerank,
          .most_decisions = 200'000};
}

} // namespace quarry::exploration

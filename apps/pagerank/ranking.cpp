// SPDX-License-Identifier: Apache-2.0
#include "ranking.hpp"

#include "kernel.hpp"

#include <quarry/graph/partition.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <programs/cluster.hpp>
#include <utility>

namespace quarry::pagerank {
namespace {

using clock = std::chrono::steady_clock;
using command::cluster_node;

constexpr std::uint32_t group_size = 256;

/// One node's part of a ranking, as it goes over the network.
struct node_outcome {
  double seconds = 0;
  std::uint64_t wrong = 0;
  net::gravel::statistics counts;
};

/// One node's rows as device memory.
struct node_graph {
  node_graph(cluster_node& node, graph::graph_slice const& rows,
             graph::block_partition const& partition)
      : offsets(node.gpu.allocate<std::uint32_t>(rows.offsets.size(), "offsets")),
        targets(node.gpu.allocate<std::uint32_t>(rows.targets.size(), "targets")),
        view{offsets.global(), targets.global(), rows.row_count, partition.block_size()} {
    std::copy(rows.offsets.begin(), rows.offsets.end(), offsets.host().begin());
    std::copy(rows.targets.begin(), rows.targets.end(), targets.host().begin());
  }
  emu::buffer<std::uint32_t> offsets;
  emu::buffer<std::uint32_t> targets;
  slice_view view;
};

/// The rounds of one node. `next` is symmetric: everybody adds to it.
class node_run {
public:
  node_run(cluster_node& node, ranking_request const& request, graph::block_partition const& p,
           graph::graph_slice const& rows, std::span<fixed> next)
      : node_(node), kernel_(request.kernel), vertex_count_(request.graph.vertex_count),
        graph_(node, rows, p), rank_(node.gpu.allocate<fixed>(rows.row_count, "rank")),
        dangling_(node.gpu.allocate<fixed>(1, "dangling")), next_(next),
        progress_(node.id == 0 ? command::progress_line::place::terminal
                               : command::progress_line::place::nowhere,
                  "pagerank", request.iterations, "rounds") {
    std::fill(rank_.host().begin(), rank_.host().end(), one / vertex_count_);
    for (std::uint32_t v = 0; v < rows.row_count; ++v)
      if (rows.out_edges(v).empty())
        dangling_.host()[0] += one / vertex_count_;
  }

  result<void> round(std::uint32_t number) {
    auto const dangling = node_.net.all_sum(dangling_.host()[0]);
    if (!dangling)
      return dangling.error();
    push();
    if (auto const applied = node_.net.barrier(); !applied)
      return applied;
    finish(base_rank(*dangling, vertex_count_));
    progress_.update(number + 1);
    return {};
  }
  [[nodiscard]] std::span<fixed const> ranks() { return rank_.host(); }

private:
  emu::launch_config config() const {
    return {.work_items = std::max(1U, graph_.view.vertex_count),
            .work_items_per_group = group_size};
  }
  emu::global<fixed> next() const { return emu::global<fixed>(next_.data()); }

  void push() {
    if (graph_.view.vertex_count == 0)
      return;
    emu::global<fixed const> const rank = rank_.global();
    if (kernel_ == kernel_kind::item)
      node_.gpu.run(config(), push_item{}, graph_.view, rank, next(), std::ref(node_.net.device()))
          .or_throw();
    else
      node_.gpu.run(config(), push_wave{}, graph_.view, rank, next(), std::ref(node_.net.device()))
          .or_throw();
  }
  void finish(fixed base) {
    dangling_.host()[0] = 0;
    if (graph_.view.vertex_count == 0)
      return;
    node_.gpu
        .run(config(), finish_round{}, graph_.view, rank_.global(), next(), base,
             dangling_.global())
        .or_throw();
  }

  cluster_node& node_;
  kernel_kind kernel_;
  std::uint64_t vertex_count_;
  node_graph graph_;
  emu::buffer<fixed> rank_;
  emu::buffer<fixed> dangling_;
  std::span<fixed> next_;
  command::progress_line progress_;
};

/// The first `count`, highest rank first.
std::vector<ranked_vertex> best_of(std::vector<ranked_vertex> all, std::size_t count) {
  auto const end = all.begin() + static_cast<std::ptrdiff_t>(std::min(count, all.size()));
  std::partial_sort(all.begin(), end, all.end(), [](auto const& a, auto const& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.vertex < b.vertex;
  });
  all.erase(end, all.end());
  return all;
}

std::vector<ranked_vertex> best_of(graph::graph_slice const& rows, std::span<fixed const> ranks,
                                   std::size_t count) {
  std::vector<ranked_vertex> all(rows.row_count);
  for (std::uint32_t v = 0; v < rows.row_count; ++v)
    all[v] = {ranks[v], rows.first_vertex + v};
  return best_of(std::move(all), count);
}

/// Everybody's vertices, of whom nobody has more than `most`, on node 0: in parts that all_gather()
/// takes.
result<std::vector<ranked_vertex>>
gather_on_first(cluster_node& node, std::vector<ranked_vertex> mine, std::size_t most) {
  using part = std::array<ranked_vertex, 4096 / sizeof(ranked_vertex)>;
  mine.resize(most); // by no vertices: all gather as often
  std::vector<ranked_vertex> all;
  for (std::span<ranked_vertex const> rest(mine); !rest.empty();) {
    auto const now = rest.first(std::min(rest.size(), part{}.size()));
    rest = rest.subspan(now.size());
    part offered{};
    std::ranges::copy(now, offered.begin());
    auto const parts = command::gather_values(node, offered);
    if (!parts)
      return parts.error();
    if (node.id == 0)
      for (part const& one : *parts)
        std::ranges::copy_if(one, std::back_inserter(all), [](ranked_vertex const& r) {
          return r.vertex != ranked_vertex::none;
        });
  }
  return all;
}

/// Runs the node's part. Node 0 keeps what is best of all in `best`.
result<node_outcome> run_one(cluster_node& node, ranking_request const& request,
                             std::vector<ranked_vertex>& best) {
  graph::block_partition const partition(request.graph.vertex_count, node.count);
  auto const rows = graph::slice(request.graph, partition, node.id);
  if (!rows)
    return rows.error();
  auto const next = node.heap.allocate<fixed>(partition.block_size());
  if (!next)
    return next.error();
  node_run run(node, request, partition, *rows, *next);
  if (auto const all_here = node.net.barrier(); !all_here)
    return all_here.error();
  auto const before = node.net.counts();
  auto const start = clock::now();
  for (std::uint32_t i = 0; i < request.iterations; ++i)
    if (auto const round = run.round(i); !round)
      return round.error();
  node_outcome out;
  out.seconds = std::chrono::duration<double>(clock::now() - start).count();
  out.counts = node.net.counts() - before;
  for (std::uint32_t v = 0; v < rows->row_count; ++v)
    out.wrong += run.ranks()[v] != request.right[rows->first_vertex + v] ? 1 : 0;
  auto all = gather_on_first(node, best_of(*rows, run.ranks(), request.top),
                             std::min(request.top, partition.block_size()));
  if (!all)
    return all.error();
  if (node.id == 0)
    best = best_of(*std::move(all), request.top);
  return out;
}

} // namespace

result<ranking> rank_vertices(command::run_options const& options, ranking_request const& request) {
  graph::block_partition const partition(request.graph.vertex_count, options.node_count);
  std::size_t const heap = std::size_t{partition.block_size()} * sizeof(fixed) + 4096;
  ranking all;
  auto const outcomes = command::gather_outcomes<node_outcome>(
      options, heap, [&](cluster_node& node) { return run_one(node, request, all.best); });
  if (!outcomes)
    return outcomes.error();
  for (node_outcome const& one : *outcomes) {
    all.seconds = std::max(all.seconds, one.seconds);
    all.wrong += one.wrong;
    all.counts = all.counts + one.counts;
  }
  return all;
}

} // namespace quarry::pagerank

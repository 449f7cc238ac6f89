// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rank.hpp"

#include <quarry/emu.hpp>
#include <quarry/net.hpp>

#include <cstdint>

namespace quarry::pagerank {

/// One node's rows of the graph, as kernels see them. Vertex v of the slice has the out-edges
/// targets[offsets[v]] … targets[offsets[v + 1] - 1]; targets are vertices of the whole graph.
struct slice_view {
  emu::global<std::uint32_t const> offsets;
  emu::global<std::uint32_t const> targets;
  std::uint32_t vertex_count;
  std::uint32_t vertices_per_node; ///< vertex t belongs to node t / vertices_per_node
};

/// Every vertex pushes its damped rank along its out-edges, over the network, from divergent code:
/// vertices have different numbers of edges (thesis §5.3, Table 5-1a). A wave kernel; the
/// wavefronts that are still in the loop find each other by work-group reconvergence.
struct push_wave {
  task<> operator()(emu::any_wavefront auto& wf, slice_view g, emu::global<fixed const> rank,
                    emu::global<fixed> next, net::gravel::endpoint& net) const {
    using wavefront = std::remove_reference_t<decltype(wf)>;
    using words = net::gravel::lanes64<wavefront>;
    auto const vertex = wf.global_id();
    auto const inside = wf.where(vertex < static_cast<std::int64_t>(g.vertex_count));
    auto const first = wf.load(g.offsets + vertex);
    auto const last = wf.load(g.offsets + (vertex + 1));
    words const degree = emu::convert<std::uint64_t>(last - first);
    words const mine = wf.load(rank + vertex);
    words const part = mine / 100 * 85 / max(degree, words(1)); // damped(), for lanes
    auto edge = first;
    for (auto loop = wf.loop(); loop.keep(edge < last);) {
      auto const target = wf.load(g.targets + emu::convert<std::int32_t>(edge));
      auto const node = target / g.vertices_per_node;
      auto const place = emu::convert<std::int64_t>(target - node * g.vertices_per_node);
      task<> sent = net.add(wf, next + place, part, node, emu::reconverging);
      co_await std::move(sent);
      edge += 1;
    }
  }
};

/// The same with one coroutine a vertex.
struct push_item {
  task<> operator()(emu::any_work_item auto& wi, slice_view g, emu::global<fixed const> rank,
                    emu::global<fixed> next, net::gravel::endpoint& net) const {
    std::uint32_t const vertex = wi.global_id();
    std::uint32_t const first = wi.load(g.offsets + vertex);
    std::uint32_t const last = wi.load(g.offsets + (vertex + 1));
    fixed const mine = wi.load(rank + vertex);
    for (std::uint32_t edge = first; edge != last; ++edge) {
      std::uint32_t const target = wi.load(g.targets + edge);
      std::uint32_t const node = target / g.vertices_per_node;
      co_await net.add(wi, next + (target - node * g.vertices_per_node),
                       damped(mine) / (last - first), node);
    }
  }
};

/// Ends a round: rank = next + base, next = 0; and what vertices without out-edges hold, summed
/// over the group and then over the node.
struct finish_round {
  task<> operator()(emu::any_wavefront auto& wf, slice_view g, emu::global<fixed> rank,
                    emu::global<fixed> next, fixed base, emu::global<fixed> dangling) const {
    using words = net::gravel::lanes64<std::remove_reference_t<decltype(wf)>>;
    auto const vertex = wf.global_id();
    auto const inside = wf.where(vertex < static_cast<std::int64_t>(g.vertex_count));
    words const updated = wf.load(next + vertex) + base;
    wf.store(rank + vertex, updated);
    wf.store(next + vertex, words(0));
    auto const first = wf.load(g.offsets + vertex);
    auto const last = wf.load(g.offsets + (vertex + 1));
    words const held = select(first == last, updated, words(0));
    fixed const group_held = co_await wf.group_reduce(held, emu::plus{});
    if (wf.index_in_group() == 0 && group_held != 0)
      wf.fetch_add(dangling, group_held, emu::order::relaxed, emu::scope::agent);
  }
};

} // namespace quarry::pagerank

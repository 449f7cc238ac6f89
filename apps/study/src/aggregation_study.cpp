// SPDX-License-Identifier: Apache-2.0
#include "looped_transport.hpp"

#include <quarry/emu/agent.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/net/gravel.hpp>
#include <quarry/sequential_scheduler.hpp>
#include <quarry/study/aggregation_study.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <gups/update_stream.hpp>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace quarry::study {
namespace {

using clock = std::chrono::steady_clock;
using both_targets = emu::targets<emu::memories<emu::native_memory, emu::interleaving_memory>, 64>;
using gpu = emu::basic_agent<both_targets>;

/// GUPS of one node: its own part of the updates, on the whole table, which is all here.
struct projected_gups {
  template<emu::any_wavefront W>
  task<> operator()(W& wf, gups::table_shape shape, std::uint64_t seed, std::uint64_t updates,
                    std::uint64_t stride, emu::global<std::uint64_t> table,
                    net::gravel::endpoint& net) const {
    auto const item = wf.global_id();
    for (std::uint64_t done = 0; done < updates; done += stride) {
      auto const active = wf.where(item < static_cast<std::int64_t>(updates - done));
      task<> sent = update(wf, shape, seed + done, table, net);
      co_await std::move(sent);
    }
  }

private:
  template<emu::any_wavefront W>
  static task<> update(W& wf, gups::table_shape shape, std::uint64_t first,
                       emu::global<std::uint64_t> table, net::gravel::endpoint& net) {
    using words = net::gravel::lanes64<W>;
    words const number = net::gravel::as_words<W>(wf.global_id()) + first;
    words const entry = gups::mix64(number) >> (64 - shape.log2_entries());
    return net.increment(wf, table + entry, entry >> shape.log2_entries_per_node);
  }
};

/// One run: how long it took, and what it sent.
struct projection {
  double seconds = 0;
  net::gravel::statistics counts;
};

constexpr std::uint32_t group_size = 256;
constexpr std::uint64_t most_groups = 1024;

projection project(executor& scheduler, std::string_view style, std::uint32_t nodes,
                   std::uint32_t log2_entries, std::uint64_t updates) {
  std::vector<std::uint64_t> table(std::size_t{1} << log2_entries);
  gpu agent(scheduler);
  net::gravel::gravel_node node(agent.core(), std::make_unique<looped_transport>(nodes), table,
                                {.style = style});
  gups::table_shape const shape{nodes,
                                log2_entries - static_cast<std::uint32_t>(std::countr_zero(nodes))};
  std::uint64_t const groups = std::clamp<std::uint64_t>(updates / group_size, 1, most_groups);
  emu::launch_config const config{.work_groups = groups, .work_items_per_group = group_size};
  auto const start = clock::now();
  agent
      .run(config, projected_gups{}, shape, std::uint64_t{1}, updates, groups * group_size,
           emu::global<std::uint64_t>(table.data()), std::ref(node.device()))
      .or_throw();
  if (auto const done = node.quiet(); !done)
    throw std::runtime_error(done.error().what);
  projection p;
  p.seconds = std::chrono::duration<double>(clock::now() - start).count();
  p.counts = node.counts();
  if (std::accumulate(table.begin(), table.end(), std::uint64_t{0}) != updates)
    throw std::runtime_error(fmt::format("{} at {} nodes: updates were lost", style, nodes));
  static_cast<void>(node.finish());
  return p;
}

/// Leader-level synchronisations for each update: exact.
double reservations(std::string_view style, std::uint32_t nodes) {
  constexpr std::uint64_t updates = 1 << 14;
  sequential_scheduler scheduler({.most_decisions = std::numeric_limits<std::uint64_t>::max()});
  auto const p = project(scheduler, style, nodes, 12, updates);
  return static_cast<double>(p.counts.reservations) / updates;
}

struct aggregation {
  char const* name;
  std::string_view style;
};
constexpr std::array<aggregation, 2> aggregations{
    {{"SIMT-direct", net::gravel::simt_direct::name}, {"indirect", net::gravel::aggregated::name}}};

double best_rate(aggregation_request const& r, std::string_view style, std::uint32_t nodes,
                 net::gravel::statistics& counts) {
  native_scheduler scheduler;
  std::uint64_t const mine = r.updates / nodes;
  double best = 0;
  for (std::uint32_t i = 0; i < r.repetitions; ++i) {
    projection const p = project(scheduler, style, nodes, r.log2_entries, mine);
    // All nodes do the same at the same time.
    double const rate = static_cast<double>(mine) * nodes / p.seconds;
    if (rate > best) {
      best = rate;
      counts = p.counts;
    }
  }
  return best;
}

} // namespace

std::uint32_t aggregation_request::steps() const noexcept {
  return static_cast<std::uint32_t>(std::bit_width(most_nodes) - 1) *
         static_cast<std::uint32_t>(aggregations.size());
}

finding study_aggregation(aggregation_request const& r) {
  table t{"aggregation", "GUPS of N nodes, projected by one", "thesis Figures 3-8 and 3-9"};
  t.columns = {{"nodes"},
               {"aggregation", "", figure_kind::label},
               {"reservations/update"},
               {"bytes/update", "B", figure_kind::wall_clock},
               {"updates/s", "M/s", figure_kind::wall_clock},
               {"relative", "", figure_kind::wall_clock}};
  chart c{.title = "GUPS, projected by one node",
          .x_label = "nodes",
          .y_label = "updates/s, SIMT-direct at 2 nodes = 1",
          .kind = chart_kind::lines,
          .scale = axis_scale::linear,
          .places = {},
          .data = {},
          .remark = "wall clock of the native scheduler on this machine"};
  for (aggregation const& a : aggregations)
    c.data.push_back({a.name, {}});
  double one = 0; // SIMT-direct at two nodes
  for (std::uint32_t nodes = 2; nodes <= r.most_nodes; nodes *= 2) {
    c.places.push_back(fmt::format("{}", nodes));
    for (std::size_t i = 0; i < aggregations.size(); ++i) {
      net::gravel::statistics counts;
      double const rate = best_rate(r, aggregations[i].style, nodes, counts);
      one = one == 0 ? rate : one;
      double const bytes =
          static_cast<double>(counts.frame_bytes) / static_cast<double>(counts.operations);
      t.rows.push_back({std::uint64_t{nodes}, std::string(aggregations[i].name),
                        reservations(aggregations[i].style, nodes), bytes, rate / 1e6, rate / one});
      c.data[i].values.emplace_back(rate / one);
      r.step_done();
    }
  }
  t.remarks = {"a cluster's rate: the nodes' updates together, as each takes the time of this one",
               "reservations: single-threaded scheduler, exact; the rest is of the fastest run"};
  return {std::move(t), std::move(c)};
}

} // namespace quarry::study

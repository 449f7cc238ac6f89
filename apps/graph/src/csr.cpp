// SPDX-License-Identifier: Apache-2.0
#include <quarry/graph/csr.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

namespace quarry::graph {
namespace {

error invalid(std::string what) {
  return {std::make_error_code(std::errc::invalid_argument), std::move(what)};
}

/// Turns counts, with the count of row v in offsets[v + 1], into the start of each row.
void sum_up(std::vector<std::uint64_t>& offsets) {
  for (std::size_t i = 1; i < offsets.size(); ++i)
    offsets[i] += offsets[i - 1];
}

/// While rows are filled, offsets[v] is the next free place of row v: at the end it is the start of
/// row v + 1, one entry too early. This moves every start back to its row.
void restore_starts(std::vector<std::uint64_t>& offsets) {
  for (std::size_t i = offsets.size() - 1; i > 0; --i)
    offsets[i] = offsets[i - 1];
  offsets[0] = 0;
}

void sort_rows(csr_graph& graph) {
  for (std::size_t v = 0; v < graph.vertex_count; ++v) {
    auto const first = graph.targets.begin() + static_cast<std::ptrdiff_t>(graph.offsets[v]);
    auto const last = graph.targets.begin() + static_cast<std::ptrdiff_t>(graph.offsets[v + 1]);
    if (!std::is_sorted(first, last))
      std::sort(first, last);
  }
}

/// Keeps the first of equal neighbours of each row and closes the gaps.
void merge_rows(csr_graph& graph) {
  std::uint64_t kept = 0;
  std::uint64_t row_start = 0;
  for (std::size_t v = 0; v < graph.vertex_count; ++v) {
    std::uint64_t const row_end = graph.offsets[v + 1];
    std::uint64_t const kept_start = kept;
    for (std::uint64_t i = row_start; i < row_end; ++i)
      if (kept == kept_start || graph.targets[kept - 1] != graph.targets[i])
        graph.targets[kept++] = graph.targets[i];
    row_start = row_end;
    graph.offsets[v + 1] = kept;
  }
  graph.targets.resize(kept);
  graph.targets.shrink_to_fit();
}

} // namespace

result<csr_graph> make_csr(std::uint32_t vertex_count, std::span<edge const> edges,
                           duplicates repeated) try {
  csr_graph graph{.vertex_count = vertex_count, .offsets = {}, .targets = {}};
  graph.offsets.resize(std::size_t{vertex_count} + 1);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    auto const [source, target] = edges[i];
    if (source >= vertex_count || target >= vertex_count)
      return invalid(fmt::format("edge {} is {} -> {}, but the graph has {} vertices", i, source,
                                 target, vertex_count));
    ++graph.offsets[std::size_t{source} + 1];
  }
  sum_up(graph.offsets);
  graph.targets.resize(edges.size());
  for (auto const [source, target] : edges)
    graph.targets[graph.offsets[source]++] = target;
  restore_starts(graph.offsets);
  sort_rows(graph);
  if (repeated == duplicates::merge)
    merge_rows(graph);
  return graph;
} catch (std::bad_alloc const&) {
  return error{std::make_error_code(std::errc::not_enough_memory),
               fmt::format("a graph of {} vertices and {} edges does not fit into memory",
                           vertex_count, edges.size())};
}

std::vector<std::uint64_t> in_degrees(csr_graph const& graph) {
  std::vector<std::uint64_t> degrees(graph.vertex_count);
  for (std::uint32_t const target : graph.targets)
    ++degrees[target];
  return degrees;
}

csr_graph transpose(csr_graph const& graph) {
  csr_graph turned{.vertex_count = graph.vertex_count, .offsets = {}, .targets = {}};
  turned.offsets.resize(std::size_t{graph.vertex_count} + 1);
  for (std::uint32_t const target : graph.targets)
    ++turned.offsets[std::size_t{target} + 1];
  sum_up(turned.offsets);
  turned.targets.resize(graph.targets.size());
  // Sources come in ascending order, so every row of the result is in ascending order.
  for (std::uint32_t source = 0; source < graph.vertex_count; ++source)
    for (std::uint32_t const target : graph.out_edges(source))
      turned.targets[turned.offsets[target]++] = source;
  restore_starts(turned.offsets);
  return turned;
}

result<void> validate(csr_graph const& graph) {
  if (graph.offsets.size() != std::size_t{graph.vertex_count} + 1)
    return invalid(fmt::format("{} offsets for {} vertices; there must be one more than vertices",
                               graph.offsets.size(), graph.vertex_count));
  if (graph.offsets.front() != 0)
    return invalid(fmt::format("offset 0 is {}, it must be 0", graph.offsets.front()));
  for (std::size_t i = 1; i < graph.offsets.size(); ++i)
    if (graph.offsets[i] < graph.offsets[i - 1])
      return invalid(fmt::format("offset {} is {}, less than {} before it", i, graph.offsets[i],
                                 graph.offsets[i - 1]));
  if (graph.offsets.back() != graph.targets.size())
    return invalid(fmt::format("the last offset is {}, but there are {} targets",
                               graph.offsets.back(), graph.targets.size()));
  for (std::size_t i = 0; i < graph.targets.size(); ++i)
    if (graph.targets[i] >= graph.vertex_count)
      return invalid(fmt::format("target {} is vertex {}, but the graph has {} vertices", i,
                                 graph.targets[i], graph.vertex_count));
  return {};
}

std::uint64_t checksum(csr_graph const& graph) {
  std::uint64_t hash = 0xcbf29ce484222325;
  // Whole words instead of bytes: eight times faster, and endianness plays no part.
  auto const mix = [&hash](std::uint64_t word) { hash = (hash ^ word) * 0x100000001b3; };
  mix(graph.vertex_count);
  for (std::uint64_t const offset : graph.offsets)
    mix(offset);
  for (std::uint32_t const target : graph.targets)
    mix(target);
  return hash;
}

} // namespace quarry::graph

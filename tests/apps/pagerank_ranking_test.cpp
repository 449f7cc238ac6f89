// SPDX-License-Identifier: Apache-2.0
// The best vertices are what the nodes have computed, not what that is compared with.
#include <quarry/graph/generate.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <pagerank/ranking.hpp>
#include <pagerank/reference.hpp>
#include <span>
#include <utility>
#include <vector>

using namespace quarry;
using namespace quarry::pagerank;

namespace {

constexpr std::uint32_t iterations = 3;

/// 1024 vertices, many of them of equal rank.
struct ranked_graph {
  graph::csr_graph graph = graph::rmat({.scale = 10, .seed = 5}).value();
  std::vector<fixed> right = reference(graph, iterations);

  /// The first of all vertices by `right`.
  [[nodiscard]] std::vector<ranked_vertex> best(std::size_t count) const {
    std::vector<ranked_vertex> all;
    for (std::uint32_t v = 0; v < right.size(); ++v)
      all.push_back({right[v], v});
    std::ranges::sort(all, {},
                      [](ranked_vertex const& r) { return std::pair(one - r.rank, r.vertex); });
    all.resize(std::min(count, all.size()));
    return all;
  }
  /// What `node_count` nodes make of it.
  [[nodiscard]] ranking by(std::uint32_t node_count, std::uint32_t top,
                           std::span<fixed const> compared,
                           kernel_kind kernel = kernel_kind::wave) const {
    command::run_options options;
    options.node_count = node_count;
    options.style = command::style_kind::gravel;
    return rank_vertices(options, {.graph = graph,
                                   .iterations = iterations,
                                   .top = top,
                                   .kernel = kernel,
                                   .right = compared})
        .value();
  }
};

} // namespace

TEST_SUITE("apps.pagerank_ranking") {
  TEST_CASE("the best are the nodes' own, and stay so where all are taken for wrong") {
    ranked_graph const g;
    std::vector<fixed> const nothing(g.right.size());
    for (auto const kernel : {kernel_kind::wave, kernel_kind::item})
      for (std::uint32_t const nodes : {1U, 3U}) {
        CAPTURE(nodes);
        auto const right = g.by(nodes, 10, g.right, kernel);
        CHECK(right.wrong == 0);
        CHECK((right.best == g.best(10)));
        auto const wrong = g.by(nodes, 10, nothing, kernel);
        CHECK(wrong.wrong == nothing.size());
        CHECK((wrong.best == g.best(10)));
      }
  }

  TEST_CASE("a rank that is taken for wrong is counted where it belongs") {
    ranked_graph const g;
    auto one_off = g.right;
    one_off[1000] += 1;
    CHECK(g.by(4, 10, one_off).wrong == 1);
  }

  TEST_CASE(
      "any number of the best is found: none, more than a message takes, more than there are") {
    ranked_graph const g;
    for (std::uint32_t const top : {0U, 1U, 256U, 257U, 700U, 1024U, 1'000'000U})
      for (std::uint32_t const nodes : {1U, 2U, 7U}) {
        CAPTURE(top);
        CAPTURE(nodes);
        CHECK((g.by(nodes, top, g.right).best == g.best(top)));
      }
  }
}

// SPDX-License-Identifier: Apache-2.0
#include <quarry/graph/csr.hpp>
#include <quarry/graph/partition.hpp>
#include <quarry/graph/summary.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <stdexcept>

namespace {

using namespace quarry::graph;

std::vector<edge> random_edges(std::mt19937_64& random, std::uint32_t vertices, std::size_t count) {
  std::vector<edge> edges(count);
  for (auto& e : edges)
    e = {static_cast<std::uint32_t>(random() % vertices),
         static_cast<std::uint32_t>(random() % vertices)};
  return edges;
}

std::vector<edge> sorted(std::vector<edge> edges) {
  std::sort(edges.begin(), edges.end(), [](edge a, edge b) {
    return a.source != b.source ? a.source < b.source : a.target < b.target;
  });
  return edges;
}

std::vector<edge> edges_of(csr_graph const& graph) {
  std::vector<edge> edges;
  for (std::uint32_t v = 0; v < graph.vertex_count; ++v)
    for (auto const target : graph.out_edges(v))
      edges.push_back({v, target});
  return edges;
}

/// 0 → 1, 0 → 1, 0 → 2, 2 → 2, 2 → 0; 3 stands alone.
csr_graph small_graph() {
  std::vector<edge> const edges{{2, 2}, {0, 1}, {0, 2}, {2, 0}, {0, 1}};
  return make_csr(4, edges).value();
}

} // namespace

TEST_SUITE("apps.graph_csr") {
  TEST_CASE("rows hold the targets in ascending order, duplicates and self loops included") {
    auto const graph = small_graph();
    CHECK(graph.offsets == std::vector<std::uint64_t>{0, 3, 3, 5, 5});
    CHECK(graph.targets == std::vector<std::uint32_t>{1, 1, 2, 0, 2});
    CHECK(graph.out_degree(0) == 3);
    CHECK(graph.out_edges(1).empty());
    CHECK(validate(graph).has_value());
  }

  TEST_CASE("merging leaves one edge of each that was listed more than once") {
    std::vector<edge> const edges{{1, 0}, {0, 1}, {1, 0}, {0, 1}, {0, 1}, {1, 1}};
    auto const graph = make_csr(2, edges, duplicates::merge).value();
    CHECK(edges_of(graph) == std::vector<edge>{{0, 1}, {1, 0}, {1, 1}});
    CHECK(validate(graph).has_value());
  }

  TEST_CASE("a graph has exactly the edges that it was made from, in any order") {
    std::mt19937_64 random(7);
    for (int round = 0; round < 200; ++round) {
      CAPTURE(round);
      auto const vertices = static_cast<std::uint32_t>(1 + random() % 50);
      auto edges = random_edges(random, vertices, random() % 200);
      auto const graph = make_csr(vertices, edges).value();
      REQUIRE(validate(graph).has_value());
      CHECK(edges_of(graph) == sorted(edges));
      std::shuffle(edges.begin(), edges.end(), random);
      CHECK(make_csr(vertices, edges).value() == graph);
      auto unique = sorted(edges);
      unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
      CHECK(edges_of(make_csr(vertices, edges, duplicates::merge).value()) == unique);
    }
  }

  TEST_CASE("an edge to a vertex that does not exist is refused by its position") {
    std::vector<edge> const edges{{0, 1}, {1, 2}};
    auto const graph = make_csr(2, edges);
    REQUIRE(graph.has_error());
    CHECK(graph.error().code == std::errc::invalid_argument);
    CHECK(graph.error().what == "edge 1 is 1 -> 2, but the graph has 2 vertices");
  }

  TEST_CASE("the transpose turns every edge round, and twice is the graph itself") {
    std::mt19937_64 random(8);
    for (int round = 0; round < 100; ++round) {
      CAPTURE(round);
      auto const vertices = static_cast<std::uint32_t>(1 + random() % 40);
      auto edges = random_edges(random, vertices, random() % 150);
      auto const graph = make_csr(vertices, edges).value();
      auto const turned = transpose(graph);
      for (auto& e : edges)
        std::swap(e.source, e.target);
      CHECK(edges_of(turned) == sorted(edges));
      CHECK(transpose(turned) == graph);
      auto const degrees = in_degrees(graph);
      for (std::uint32_t v = 0; v < vertices; ++v)
        CHECK(degrees[v] == turned.out_degree(v));
    }
  }

  TEST_CASE("validation names what is wrong with each part") {
    auto const problem = [](auto spoil) {
      auto graph = small_graph();
      spoil(graph);
      auto const valid = validate(graph);
      return valid ? "" : valid.error().what;
    };
    CHECK(problem([](csr_graph&) {}) == "");
    CHECK(problem([](csr_graph& g) { g.offsets.pop_back(); }) ==
          "4 offsets for 4 vertices; there must be one more than vertices");
    CHECK(problem([](csr_graph& g) { g.offsets[0] = 1; }) == "offset 0 is 1, it must be 0");
    CHECK(problem([](csr_graph& g) { g.offsets[2] = 1; }) ==
          "offset 2 is 1, less than 3 before it");
    CHECK(problem([](csr_graph& g) { g.targets.pop_back(); }) ==
          "the last offset is 5, but there are 4 targets");
    CHECK(problem([](csr_graph& g) { g.targets[3] = 4; }) ==
          "target 3 is vertex 4, but the graph has 4 vertices");
  }

  TEST_CASE("the graph without vertices is a graph") {
    CHECK(validate(csr_graph{}).has_value());
    CHECK(make_csr(0, {}).value() == csr_graph{});
    CHECK(transpose(csr_graph{}) == csr_graph{});
    CHECK(summarize(csr_graph{}) == graph_summary{});
  }

  TEST_CASE("the checksum tells apart graphs that differ in one edge or one lonely vertex") {
    std::vector<edge> const edges{{0, 1}, {1, 0}};
    std::vector<edge> const others{{0, 1}, {1, 1}};
    auto const sum = checksum(make_csr(2, edges).value());
    CHECK(sum == checksum(make_csr(2, edges).value()));
    CHECK(sum != checksum(make_csr(3, edges).value()));
    CHECK(sum != checksum(make_csr(2, others).value()));
  }

  TEST_CASE("the summary counts degrees, lonely vertices, sinks and self loops") {
    CHECK(summarize(small_graph()) == graph_summary{.vertex_count = 4,
                                                    .edge_count = 5,
                                                    .max_in_degree = 2,
                                                    .max_out_degree = 3,
                                                    .max_in_degree_vertex = 1,
                                                    .max_out_degree_vertex = 0,
                                                    .isolated_count = 1,
                                                    .sink_count = 2,
                                                    .self_loop_count = 1});
    CHECK(to_string(summarize(small_graph())).find("largest out-degree  3 (vertex 1)\n") !=
          std::string::npos);
    // Without edges no vertex has the most.
    CHECK(to_string(summarize({.vertex_count = 2, .offsets = {0, 0, 0}, .targets = {}}))
              .starts_with("vertices            2\n"
                           "edges               0\n"
                           "largest in-degree   0\n"
                           "largest out-degree  0\n"));
  }

  TEST_CASE("each vertex is owned once, by the node whose block it lies in") {
    std::mt19937_64 random(9);
    for (int round = 0; round < 400; ++round) {
      auto const vertices = static_cast<std::uint32_t>(random() % 100);
      auto const nodes = static_cast<std::uint32_t>(1 + random() % 120);
      CAPTURE(vertices);
      CAPTURE(nodes);
      block_partition const partition(vertices, nodes);
      std::uint32_t expected = 0;
      bool blocks_meet = true;
      bool owners_match = true;
      for (std::uint32_t node = 0; node < nodes; ++node) {
        blocks_meet = blocks_meet && partition.first(node) == expected &&
                      partition.size(node) <= partition.block_size();
        for (; expected < partition.last(node); ++expected)
          owners_match = owners_match && partition.owner(expected) == node &&
                         partition.local_index(expected) == expected - partition.first(node);
      }
      CHECK(expected == vertices);
      CHECK(blocks_meet);
      CHECK(owners_match);
      CHECK(partition.block_size() == std::max((vertices + nodes - 1) / nodes, 1u));
    }
  }

  TEST_CASE("the largest vertex and node counts do not overflow") {
    constexpr auto most = std::uint32_t{0xffffffff};
    block_partition const one_each(most, most);
    CHECK(one_each.block_size() == 1);
    CHECK(one_each.owner(most - 1) == most - 1);
    CHECK(one_each.last(most - 1) == most);
    block_partition const nearly(most, most - 1); // blocks of 2: the upper half owns nothing
    CHECK(nearly.block_size() == 2);
    CHECK(nearly.first(most - 2) == most);
    CHECK(nearly.size(most - 2) == 0);
    block_partition const halves(most, 2);
    CHECK(halves.last(0) == std::uint32_t{1} << 31);
    CHECK(halves.size(1) == (std::uint32_t{1} << 31) - 1);
    CHECK(block_partition(most, 1).last(0) == most);
  }

  TEST_CASE("a partition into no nodes is refused") {
    CHECK_THROWS_AS(block_partition(5, 0), std::invalid_argument);
  }

  TEST_CASE("the slices of all nodes together are the graph") {
    std::mt19937_64 random(10);
    for (int round = 0; round < 100; ++round) {
      CAPTURE(round);
      auto const vertices = static_cast<std::uint32_t>(1 + random() % 60);
      auto const nodes = static_cast<std::uint32_t>(1 + random() % 70);
      auto const graph = make_csr(vertices, random_edges(random, vertices, random() % 300)).value();
      block_partition const partition(vertices, nodes);
      std::vector<edge> together;
      for (std::uint32_t node = 0; node < nodes; ++node) {
        auto const part = slice(graph, partition, node).value();
        REQUIRE(part.row_count == partition.size(node));
        REQUIRE(part.offsets.size() == part.row_count + 1);
        REQUIRE(part.offsets.back() == part.targets.size());
        for (std::uint32_t row = 0; row < part.row_count; ++row)
          for (auto const target : part.out_edges(row))
            together.push_back({part.first_vertex + row, target});
      }
      CHECK(together == edges_of(graph));
    }
  }

  TEST_CASE("a slice of another graph's partition, or of a node that is not there, is refused") {
    auto const graph = small_graph();
    auto const other = slice(graph, block_partition(5, 2), 0);
    REQUIRE(other.has_error());
    CHECK(other.error().what == "a partition of 5 vertices cannot slice a graph of 4");
    auto const third = slice(graph, block_partition(4, 2), 2);
    REQUIRE(third.has_error());
    CHECK(third.error().what == "node 2 of a partition with the nodes 0 to 1");
  }
}

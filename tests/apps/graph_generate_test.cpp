// SPDX-License-Identifier: Apache-2.0
#include <quarry/graph/generate.hpp>
#include <quarry/graph/summary.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace {

using namespace quarry::graph;

bool has_edge(csr_graph const& graph, std::uint32_t source, std::uint32_t target) {
  auto const row = graph.out_edges(source);
  return std::binary_search(row.begin(), row.end(), target);
}

} // namespace

TEST_SUITE("apps.graph_generate") {
  TEST_CASE("a seed makes the same R-MAT graph with every compiler") {
    auto const graph = rmat({.scale = 10, .edge_factor = 8, .seed = 42}).value();
    CHECK(graph.vertex_count == 1024);
    CHECK(graph.edge_count() == 8192);
    CHECK(validate(graph).has_value());
    CHECK(checksum(graph) == 7727414397579881377u);
    CHECK(rmat({.scale = 10, .edge_factor = 8, .seed = 42}).value() == graph);
    CHECK(rmat({.scale = 10, .edge_factor = 8, .seed = 43}).value() != graph);
  }

  TEST_CASE("the default R-MAT graph is skewed and the one with equal quarters is not") {
    auto const skewed = summarize(rmat({.scale = 12, .edge_factor = 16}).value());
    auto const even =
        summarize(rmat({.scale = 12, .edge_factor = 16, .a = 0.25, .b = 0.25, .c = 0.25}).value());
    CHECK(skewed.max_out_degree > 20 * 16);
    CHECK(skewed.isolated_count > 100);
    CHECK(even.max_out_degree < 3 * 16);
    CHECK(even.isolated_count == 0);
  }

  TEST_CASE("b and c decide which side is skewed") {
    auto const sources = summarize(rmat({.scale = 10, .a = 0.45, .b = 0.45, .c = 0.05}).value());
    CHECK(sources.max_out_degree > 4 * sources.max_in_degree);
    auto const targets = summarize(rmat({.scale = 10, .a = 0.45, .b = 0.05, .c = 0.45}).value());
    CHECK(targets.max_in_degree > 4 * targets.max_out_degree);
  }

  TEST_CASE("a probability of one puts all edges on one vertex, and merging leaves one of them") {
    auto const all = rmat({.scale = 4, .edge_factor = 3, .a = 1.0, .b = 0.0, .c = 0.0}).value();
    CHECK(summarize(all).max_out_degree == 48);
    CHECK(summarize(all).self_loop_count == 48);
    auto const merged = rmat({.scale = 4,
                              .edge_factor = 3,
                              .a = 1.0,
                              .b = 0.0,
                              .c = 0.0,
                              .repeated = duplicates::merge});
    CHECK(merged.value().edge_count() == 1);
  }

  TEST_CASE("the smallest R-MAT graphs are graphs") {
    auto const one = rmat({.scale = 0, .edge_factor = 2}).value();
    CHECK(one.vertex_count == 1);
    CHECK(one.targets == std::vector<std::uint32_t>{0, 0});
    CHECK(rmat({.scale = 3, .edge_factor = 0}).value().edge_count() == 0);
  }

  TEST_CASE("R-MAT options out of range are refused, each with what is allowed") {
    auto const problem = [](rmat_options const& options) {
      auto const graph = rmat(options);
      return graph ? "" : graph.error().what;
    };
    CHECK(problem({.scale = 32}) == "rmat: scale is 32, allowed is 0 to 31");
    CHECK(problem({.a = -0.5}) == "rmat: a is -0.5, allowed is 0 to 1");
    CHECK(problem({.b = 1.5}) == "rmat: b is 1.5, allowed is 0 to 1");
    CHECK(problem({.c = std::nan("")}) == "rmat: c is nan, allowed is 0 to 1");
    CHECK(problem({.a = 0.5, .b = 0.5, .c = 0.25}) ==
          "rmat: a + b + c is 1.25, allowed is at most 1");
    for (std::uint64_t const factor : {0U, 16U}) {
      auto const vast = rmat({.scale = 20, .edge_factor = factor, .memory_limit_bytes = 1 << 20});
      REQUIRE(vast.has_error());
      CHECK(vast.error().code == std::errc::value_too_large);
    }
    CHECK(problem({.edge_factor = std::numeric_limits<std::uint64_t>::max()}) != "");
  }

  TEST_CASE("the smallest honeycomb is one hexagon") {
    auto const graph = hexagonal_mesh({.rows = 2, .columns = 3}).value();
    CHECK(graph.vertex_count == 6);
    CHECK(graph.offsets == std::vector<std::uint64_t>{0, 2, 4, 6, 8, 10, 12});
    CHECK(graph.targets == std::vector<std::uint32_t>{1, 3, 0, 2, 1, 5, 0, 4, 3, 5, 2, 4});
  }

  TEST_CASE("a seed makes the same mesh with every compiler") {
    hexagonal_mesh_options const options{
        .rows = 60, .columns = 100, .hole_fraction = 0.3, .seed = 42};
    auto const graph = hexagonal_mesh(options).value();
    CHECK(checksum(graph) == 9899159807567207893u);
    CHECK(hexagonal_mesh(options).value() == graph);
    auto other = options;
    other.seed = 43;
    CHECK(hexagonal_mesh(other).value() != graph);
  }

  TEST_CASE(
      "a mesh is undirected, without self loops, and every vertex has two or three neighbours") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      CAPTURE(seed);
      auto const rows = static_cast<std::uint32_t>(20 + seed);
      auto const columns = static_cast<std::uint32_t>(90 - seed);
      auto const graph = hexagonal_mesh({.rows = rows,
                                         .columns = columns,
                                         .hole_fraction = static_cast<double>(seed % 7) / 10,
                                         .seed = seed})
                             .value();
      REQUIRE(validate(graph).has_value());
      REQUIRE(graph == transpose(graph)); // rows ascend: equal means symmetric
      bool degrees_fit = true;
      bool self_loops = false;
      for (std::uint32_t v = 0; v < graph.vertex_count; ++v) {
        degrees_fit = degrees_fit && (graph.out_degree(v) == 2 || graph.out_degree(v) == 3);
        self_loops = self_loops || has_edge(graph, v, v);
      }
      CHECK(degrees_fit);
      CHECK(!self_loops);
    }
  }

  TEST_CASE(
      "the holes take about the fraction asked for, and nearly all that is left has degree 3") {
    constexpr double places = 400.0 * 600.0;
    for (double const fraction : {0.0, 0.1, 0.25, 0.5}) {
      CAPTURE(fraction);
      auto const graph =
          hexagonal_mesh({.rows = 400, .columns = 600, .hole_fraction = fraction}).value();
      auto const gone = 1.0 - graph.vertex_count / places;
      CHECK(gone >= fraction - 0.001);
      CHECK(gone <= fraction + 0.01);
      CHECK(static_cast<double>(graph.edge_count()) > 2.8 * graph.vertex_count);
    }
  }

  TEST_CASE("mesh options out of range are refused, each with what is allowed") {
    auto const problem = [](hexagonal_mesh_options const& options) {
      auto const graph = hexagonal_mesh(options);
      return graph ? "" : graph.error().what;
    };
    CHECK(problem({.rows = 1}) == "hexagonal mesh: rows is 1, allowed is at least 2");
    CHECK(problem({.columns = 2}) == "hexagonal mesh: columns is 2, allowed is at least 3");
    CHECK(problem({.hole_fraction = 0.95}) ==
          "hexagonal mesh: the hole fraction is 0.95, allowed is 0 to 0.9");
    CHECK(problem({.hole_fraction = -0.1}) != "");
    CHECK(problem({.hole_fraction = std::nan("")}) != "");
    CHECK(problem({.rows = 1u << 20, .columns = 1u << 20}) ==
          "hexagonal mesh: 1048576 rows of 1048576 are 1099511627776 vertices, at most 4294967295 "
          "are allowed");
    CHECK(problem({.rows = 10, .columns = 10, .hole_fraction = 0.01}) ==
          "hexagonal mesh: 10 rows of 10 are too small for one hole with the hole fraction 0.01");
    auto const vast =
        hexagonal_mesh({.rows = 10'000, .columns = 10'000, .memory_limit_bytes = 1 << 20});
    REQUIRE(vast.has_error());
    CHECK(vast.error().code == std::errc::value_too_large);
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "random.hpp"
#include "text.hpp"

#include <quarry/graph/generate.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <numeric>
#include <utility>

namespace quarry::graph {
namespace {

constexpr std::uint32_t max_scale = 31; // 2^32 vertices are one more than max_vertex_count

/// The upper ends of the first three quarters, in units of 2^-32: exact, as 2^32 is a power of two.
struct quarters {
  std::uint64_t a, ab, abc;

  explicit quarters(rmat_options const& options)
      : a(to_units(options.a)), ab(to_units(options.a + options.b)),
        abc(to_units(options.a + options.b + options.c)) {}

private:
  static std::uint64_t to_units(double probability) {
    return static_cast<std::uint64_t>(probability * 4294967296.0);
  }
};

result<void> check(rmat_options const& options) {
  auto const refuse = [](std::string const& what) {
    return make_error(std::errc::invalid_argument, "rmat: " + what);
  };
  if (options.scale > max_scale)
    return refuse(fmt::format("scale is {}, allowed is 0 to {}", options.scale, max_scale));
  // Written so that NaN is refused too.
  for (auto const& [name, value] :
       {std::pair{"a", options.a}, std::pair{"b", options.b}, std::pair{"c", options.c}})
    if (!(value >= 0.0 && value <= 1.0))
      return refuse(fmt::format("{} is {}, allowed is 0 to 1", name, value));
  if (!(options.a + options.b + options.c <= 1.0))
    return refuse(
        fmt::format("a + b + c is {}, allowed is at most 1", options.a + options.b + options.c));
  auto const limit = memory_limit(options.memory_limit_bytes);
  auto const vertices = std::uint64_t{1} << options.scale;
  auto const bytes_per_vertex = sizeof(std::uint64_t) + sizeof(std::uint32_t);
  auto const bytes_per_edge = sizeof(edge) + sizeof(std::uint32_t);
  if (bytes_per_vertex > limit / vertices ||
      options.edge_factor > (limit / vertices - bytes_per_vertex) / bytes_per_edge)
    return make_error(std::errc::value_too_large,
                      fmt::format("rmat: 2^{} vertices with {} edges each need more memory than "
                                  "the limit of {} bytes",
                                  options.scale, options.edge_factor, limit));
  return {};
}

/// One descent through the matrix: each level decides one bit of source and target.
edge draw(random_stream& random, quarters const& ends, std::uint32_t scale) {
  edge drawn;
  std::uint64_t bits = 0;
  for (std::uint32_t level = 0; level < scale; ++level) {
    bits = level % 2 == 0 ? random.next() : bits >> 32;
    std::uint64_t const point = bits & 0xffffffff;
    bool const low_source = point < ends.ab;
    bool const low_target = low_source ? point < ends.a : point < ends.abc;
    drawn.source = drawn.source << 1 | (low_source ? 0u : 1u);
    drawn.target = drawn.target << 1 | (low_target ? 0u : 1u);
  }
  return drawn;
}

std::vector<std::uint32_t> permutation(random_stream& random, std::uint32_t count) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  for (std::uint32_t i = count; i > 1; --i)
    std::swap(numbers[i - 1], numbers[random.below(i)]);
  return numbers;
}

} // namespace

result<csr_graph> rmat(rmat_options const& options) try {
  if (auto const checked = check(options); !checked)
    return checked.error();
  auto const vertex_count = std::uint32_t{1} << options.scale;
  random_stream random(options.seed);
  quarters const ends(options);
  auto const numbers = permutation(random, vertex_count);
  std::vector<edge> edges(options.edge_factor << options.scale);
  for (auto& drawn : edges) {
    drawn = draw(random, ends, options.scale);
    drawn = {numbers[drawn.source], numbers[drawn.target]};
  }
  return make_csr(vertex_count, edges, options.repeated);
} catch (std::bad_alloc const&) {
  return make_error(std::errc::not_enough_memory,
                    fmt::format("rmat: 2^{} vertices with {} edges each do not fit into memory",
                                options.scale, options.edge_factor));
}

} // namespace quarry::graph

// SPDX-License-Identifier: Apache-2.0
#include "random.hpp"
#include "text.hpp"

#include <quarry/graph/generate.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <span>

namespace quarry::graph {
namespace {

constexpr double max_hole_fraction = 0.9;
constexpr std::uint32_t no_vertex = std::numeric_limits<std::uint32_t>::max();

/// The honeycomb drawn as a brick wall: along a line each place has a neighbour to the left and to
/// the right; up and down, only every second place has one.
class honeycomb {
public:
  honeycomb(std::uint32_t rows, std::uint32_t columns)
      : rows_(rows), columns_(columns), left_(std::uint64_t{rows} * columns),
        number_(static_cast<std::size_t>(left_), 0) {}

  void cut_hole(std::uint64_t row, std::uint64_t column, std::uint64_t radius_squared);
  void cut_dangling();
  [[nodiscard]] std::uint64_t place_count() const { return std::uint64_t{rows_} * columns_; }
  [[nodiscard]] std::uint64_t left() const { return left_; }
  [[nodiscard]] csr_graph to_graph();

private:
  /// Neighbours that are still there, in ascending order of place.
  struct neighbour_list {
    std::array<std::uint64_t, 3> places{};
    std::uint32_t count = 0;
  };

  [[nodiscard]] neighbour_list neighbours(std::uint64_t place) const;
  [[nodiscard]] bool is_there(std::uint64_t place) const { return number_[place] != no_vertex; }
  void cut(std::uint64_t place) {
    left_ -= is_there(place);
    number_[place] = no_vertex;
  }

  std::uint32_t rows_;
  std::uint32_t columns_;
  std::uint64_t left_;
  std::vector<std::uint32_t> number_; ///< no_vertex: cut; to_graph() makes the others the vertices
};

honeycomb::neighbour_list honeycomb::neighbours(std::uint64_t place) const {
  neighbour_list list;
  auto const row = place / columns_;
  auto const column = place % columns_;
  auto const add = [&](std::uint64_t other) {
    if (is_there(other))
      list.places[list.count++] = other;
  };
  bool const goes_down = (row + column) % 2 == 0;
  if (!goes_down && row > 0)
    add(place - columns_);
  if (column > 0)
    add(place - 1);
  if (column + 1 < columns_)
    add(place + 1);
  if (goes_down && row + 1 < rows_)
    add(place + columns_);
  return list;
}

/// Whole numbers only: lines lie √3 columns apart, so that distance² = columns² + 3 rows².
void honeycomb::cut_hole(std::uint64_t row, std::uint64_t column, std::uint64_t radius_squared) {
  auto const distance = [](std::uint64_t x, std::uint64_t y) { return x > y ? x - y : y - x; };
  std::uint64_t reach = 0; // the radius, rounded up
  while (reach * reach < radius_squared)
    ++reach;
  auto const last_row = std::min<std::uint64_t>(row + reach, rows_ - 1);
  auto const last_column = std::min<std::uint64_t>(column + reach, columns_ - 1);
  for (auto r = row - std::min(row, reach); r <= last_row; ++r)
    for (auto c = column - std::min(column, reach); c <= last_column; ++c) {
      auto const dr = distance(r, row);
      auto const dc = distance(c, column);
      if (dc * dc + 3 * dr * dr <= radius_squared)
        cut(r * columns_ + c);
    }
}

void honeycomb::cut_dangling() {
  for (std::uint64_t start = 0; start < place_count(); ++start) {
    // Cutting one may leave its neighbour dangling, which the loop has passed already.
    for (std::uint64_t place = start; is_there(place);) {
      auto const list = neighbours(place);
      if (list.count > 1)
        break;
      cut(place);
      if (list.count == 1)
        place = list.places[0];
    }
  }
}

csr_graph honeycomb::to_graph() {
  std::uint32_t next = 0;
  for (auto& number : number_)
    if (number != no_vertex)
      number = next++;
  csr_graph graph{.vertex_count = next, .offsets = {}, .targets = {}};
  graph.offsets.reserve(std::size_t{next} + 1);
  graph.offsets.push_back(0);
  graph.targets.reserve(std::size_t{next} * 3);
  for (std::uint64_t place = 0; place < place_count(); ++place) {
    if (!is_there(place))
      continue;
    auto const list = neighbours(place);
    for (auto const other : std::span(list.places).first(list.count))
      graph.targets.push_back(number_[other]);
    graph.offsets.push_back(graph.targets.size());
  }
  return graph;
}

/// A hole of radius r columns has about π r² / √3 places.
constexpr std::uint64_t area_of(std::uint64_t radius_squared) {
  return radius_squared * 1814 / 1000;
}
constexpr std::uint64_t smallest_radius = 3; // about 16 vertices

/// False if not even one hole fits under `wanted` places.
bool cut_holes(honeycomb& mesh, hexagonal_mesh_options const& options, std::uint64_t wanted) {
  random_stream random(options.seed);
  auto const across = std::min<std::uint64_t>(options.columns, std::uint64_t{options.rows} * 7 / 4);
  auto const largest_radius = std::max(across / 16, smallest_radius);
  auto const keep = mesh.place_count() - wanted;
  bool any = false;
  while (mesh.left() >= keep + area_of(smallest_radius * smallest_radius)) {
    auto const row = random.below(options.rows);
    auto const column = random.below(options.columns);
    auto const radius =
        smallest_radius +
        random.below(static_cast<std::uint32_t>(largest_radius - smallest_radius + 1));
    // The last holes are made no larger than what is still to go.
    auto const fitting = (mesh.left() - keep) * 1000 / 1814;
    mesh.cut_hole(row, column, std::min(radius * radius, fitting));
    any = true;
  }
  return any;
}

result<void> check(hexagonal_mesh_options const& options) {
  auto const refuse = [](std::errc code, std::string const& what) {
    return make_error(code, "hexagonal mesh: " + what);
  };
  if (options.rows < 2)
    return refuse(std::errc::invalid_argument,
                  fmt::format("rows is {}, allowed is at least 2", options.rows));
  if (options.columns < 3)
    return refuse(std::errc::invalid_argument,
                  fmt::format("columns is {}, allowed is at least 3", options.columns));
  if (!(options.hole_fraction >= 0.0 && options.hole_fraction <= max_hole_fraction))
    return refuse(std::errc::invalid_argument,
                  fmt::format("the hole fraction is {}, allowed is 0 to {}", options.hole_fraction,
                              max_hole_fraction));
  auto const places = std::uint64_t{options.rows} * options.columns;
  if (places > max_vertex_count)
    return refuse(std::errc::value_too_large,
                  fmt::format("{} rows of {} are {} vertices, at most {} are allowed", options.rows,
                              options.columns, places, max_vertex_count));
  constexpr std::uint64_t bytes_per_place = sizeof(std::uint64_t) + 4 * sizeof(std::uint32_t);
  auto const limit = memory_limit(options.memory_limit_bytes);
  if (places > limit / bytes_per_place)
    return refuse(std::errc::value_too_large,
                  fmt::format("{} rows of {} need {} bytes, the limit is {}", options.rows,
                              options.columns, places * bytes_per_place, limit));
  return {};
}

} // namespace

result<csr_graph> hexagonal_mesh(hexagonal_mesh_options const& options) try {
  if (auto const checked = check(options); !checked)
    return checked.error();
  auto const refuse = [&options](char const* what) {
    return make_error(std::errc::invalid_argument,
                      fmt::format("hexagonal mesh: {} rows of {} {} with the hole fraction {}",
                                  options.rows, options.columns, what, options.hole_fraction));
  };
  honeycomb mesh(options.rows, options.columns);
  auto const wanted =
      static_cast<std::uint64_t>(static_cast<double>(mesh.place_count()) * options.hole_fraction);
  if (options.hole_fraction > 0.0 && !cut_holes(mesh, options, wanted))
    return refuse("are too small for one hole");
  mesh.cut_dangling();
  if (mesh.left() == 0)
    return refuse("leave nothing");
  return mesh.to_graph();
} catch (std::bad_alloc const&) {
  return make_error(std::errc::not_enough_memory,
                    fmt::format("hexagonal mesh: {} rows of {} do not fit into memory",
                                options.rows, options.columns));
}

} // namespace quarry::graph

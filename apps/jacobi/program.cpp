// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "host_relaxation.hpp"
#include "kernel.hpp"
#include "reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <programs/comp_net_cluster.hpp>
#include <programs/memory_need.hpp>
#include <span>
#include <string>

namespace quarry::jacobi {
namespace {

using clock = std::chrono::steady_clock;
using command::comp_net_node;

struct settings {
  command::comp_net_settings common;
  std::uint32_t rows = 128; ///< of a node
  std::uint32_t columns = 256;
  std::uint32_t most_sweeps = 500;
  std::uint32_t sweeps_per_check = 10;
  std::uint32_t digits = 4; ///< the tolerance is 10 to minus this
};

struct node_outcome {
  double seconds = 0;
  std::uint64_t wrong = 0;
  std::uint64_t sweeps = 0;
  double change = 0;
};

constexpr std::uint32_t group_size = 256;

grid_shape shape_of(settings const& s, std::uint32_t nodes) {
  return {.node_count = nodes,
          .strips_per_node = s.common.work_group_count,
          .rows = s.rows / s.common.work_group_count,
          .columns = s.columns,
          .most_sweeps = s.most_sweeps,
          .sweeps_per_check = s.sweeps_per_check,
          .tolerance = std::pow(10.0, -static_cast<double>(s.digits))};
}

std::size_t heap_bytes(grid_shape const& s) {
  return sizeof(double) * (s.node_cells() + 2 * std::size_t{s.strips()}) +
         sizeof(std::uint64_t) * 4 * s.strips_per_node;
}

result<grid> make_grid(comp_net_node& node, grid_shape const& s,
                       emu::global<std::uint64_t> sweeps) {
  auto const cells = node.host().malloc<double>(s.node_cells());
  if (!cells)
    return cells.error();
  auto const changes = node.host().malloc<double>(2 * std::size_t{s.strips()});
  if (!changes)
    return changes.error();
  auto const signals = node.host().malloc<std::uint64_t>(4 * std::size_t{s.strips_per_node} + 2);
  if (!signals)
    return signals.error();
  std::ranges::fill(*cells, 0);
  std::ranges::fill(*signals, 0);
  emu::global<std::uint64_t> const words(signals->data());
  grid const g{.shape = s,
               .cells = emu::global<double>(cells->data()),
               .edges = words + 2,
               .changes = emu::global<double>(changes->data()),
               .arrived = words,
               .sweeps = sweeps};
  if (node.id == 0)
    for (std::uint64_t const after : {0, 1})
      std::ranges::fill(std::span(g.row(0, after, 0).get(), s.row_cells()), 1.0);
  if (auto const all_here = node.host().barrier_all(); !all_here)
    return all_here.error();
  return g;
}

std::uint64_t count_wrong(grid const& g, std::uint32_t self, relaxation const& right) {
  std::uint64_t wrong = 0;
  for (std::uint32_t strip = 0; strip < g.shape.strips_per_node; ++strip) {
    wrong += g.sweeps.get()[strip] == right.sweeps ? 0 : 1;
    std::uint64_t const first =
        (std::uint64_t{self} * g.shape.strips_per_node + strip) * g.shape.rows;
    for (std::uint32_t y = 1; y <= g.shape.rows; ++y) {
      double const* const mine = g.row(strip, right.sweeps, y).get();
      double const* const serial = &right.cells[(first + y) * g.shape.row_cells()];
      for (std::uint32_t x = 1; x <= g.shape.columns; ++x)
        wrong += mine[x] == serial[x] ? 0 : 1;
    }
  }
  return wrong;
}

result<node_outcome> run_one(comp_net_node& node, settings const& s) {
  grid_shape const shape = shape_of(s, node.count);
  auto sweeps = node.gpu.allocate<std::uint64_t>(shape.strips_per_node, "sweeps");
  auto const g = make_grid(node, shape, sweeps.global());
  if (!g)
    return g.error();
  auto const start = clock::now();
  if (!node.has_device_calls()) {
    if (auto const done = host_relaxation(node, *g, group_size).run(); !done)
      return done.error();
  } else {
    node.gpu
        .run(comp_net_node::groups(shape.strips_per_node, group_size), relax_wave{}, *g,
             std::ref(node.net.device()))
        .or_throw();
  }
  node_outcome out{.seconds = std::chrono::duration<double>(clock::now() - start).count()};
  relaxation const right = reference(shape);
  out.wrong = count_wrong(*g, node.id, right);
  out.sweeps = sweeps.host()[0];
  out.change = right.change;
  return out;
}

command::program_result describe(settings const& s, command::run_options const& o,
                                 node_outcome const& sum) {
  command::program_result r;
  r.is_checked = true;
  r.wrong_count = sum.wrong;
  command::add_settings(r, s.common);
  r.settings.push_back({"rows per node", s.rows});
  r.settings.push_back({"columns", s.columns});
  r.settings.push_back({"change", sum.change});
  double const cells = static_cast<double>(s.rows) * s.columns * o.node_count;
  auto const sweeps = static_cast<double>(sum.sweeps);
  r.figures = {{"sweeps", sum.sweeps, ""},
               {"time", sum.seconds * 1e3, "ms"},
               {"time/sweep", sum.seconds * 1e6 / sweeps, "us"},
               {"cells/s", cells * sweeps / sum.seconds / 1e6, "M/s"}};
  if (double const tolerance = shape_of(s, o.node_count).tolerance; sum.change > tolerance)
    r.lines.push_back(
        fmt::format("not at rest: the limit of sweeps (--sweeps {}) has ended it; the last change "
                    "is {:.2g}, more than {:.0e} (--digits {})",
                    s.most_sweeps, sum.change, tolerance, s.digits));
  return r;
}

result<command::program_result> run(command::run_options const& o, settings const& s) {
  auto const all =
      command::gather_outcomes<node_outcome>(o, s.common, heap_bytes(shape_of(s, o.node_count)),
                                             [&](comp_net_node& node) { return run_one(node, s); });
  if (!all)
    return all.error();
  node_outcome total = all->front();
  total.wrong = 0;
  for (node_outcome const& one : *all) {
    total.seconds = std::max(total.seconds, one.seconds);
    total.wrong += one.wrong;
  }
  return describe(s, o, total);
}

void check(CLI::App const& app, settings const& s) {
  command::check(app, s.common);
  if (s.rows % s.common.work_group_count != 0)
    command::refuse("--rows", fmt::format("{} for {} work-groups; allowed are multiples", s.rows,
                                          s.common.work_group_count));
}

/// Each node has the serial answer: two grids of all nodes.
void check(command::run_options const& o, settings const& s) {
  grid_shape const shape = shape_of(s, o.node_count);
  command::need_memory(o, "--nodes, --rows, --columns",
                       heap_bytes(shape) +
                           2 * sizeof(double) * shape.row_cells() * s.rows * o.node_count);
  command::check_groups(o, s.common, group_size);
}

command::program_call add_options(CLI::App& app) {
  auto const s = std::make_shared<settings>();
  command::add_comp_net_options(app, s->common);
  command::add_number(app, "--rows", s->rows, 1, 1U << 16, "of each node");
  command::add_number(app, "--columns", s->columns, 1, 1U << 16, "of the grid");
  command::add_number(app, "--sweeps", s->most_sweeps, 1, 1U << 30,
                      "at most: they end it even where the grid still changes, which is said");
  command::add_number(app, "--check-every", s->sweeps_per_check, 1, 1U << 30,
                      "sweeps until the largest change is looked at");
  command::add_number(app, "--digits", s->digits, 1, 15,
                      "at rest is a grid that changes by 10 to minus this at most");
  command::check_when_read(app, [s, &app] { check(app, *s); });
  return {.check = [s](command::run_options const& o) { check(o, *s); },
          .run = [s](command::run_options const& o) { return run(o, *s); }};
}

} // namespace

command::program program() {
  return {.name = "jacobi",
          .summary = "a grid relaxed until it is at rest or --sweeps are done, with halo exchange",
          .examples = "Examples:\n"
                      "  quarry run jacobi --nodes 4\n"
                      "  quarry run jacobi --nodes 8 --rows 1024 --columns 1024 --work-groups 4\n"
                      "  quarry run jacobi --nodes 2 --configuration inter_kernel\n",
          .add_options = &add_options,
          .draws = false};
}

} // namespace quarry::jacobi

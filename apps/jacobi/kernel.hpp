// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu.hpp>
#include <quarry/net/comp_net/context.hpp>

#include <cstddef>
#include <cstdint>
#include <programs/group_elements.hpp>
#include <utility>

namespace quarry::jacobi {

/// What is relaxed: a grid that is cut along its rows into strips, a strip a work-group, the strips
/// of one node side by side. Around it are cells that never change: 1 above, 0 elsewhere.
struct grid_shape {
  std::uint32_t node_count;
  std::uint32_t strips_per_node;
  std::uint32_t rows;    ///< of a strip
  std::uint32_t columns; ///< of the grid
  std::uint32_t most_sweeps;
  std::uint32_t sweeps_per_check; ///< the residual is looked at so often
  double tolerance;               ///< of the largest change in a sweep

  [[nodiscard]] constexpr std::uint32_t strips() const noexcept {
    return node_count * strips_per_node;
  }
  /// Cells in a row, and in a strip, with those around.
  [[nodiscard]] constexpr std::size_t row_cells() const noexcept { return columns + 2; }
  [[nodiscard]] constexpr std::size_t strip_cells() const noexcept {
    return (std::size_t{rows} + 2) * row_cells();
  }
  /// Cells that a node holds: two of each, of one sweep and of the next.
  [[nodiscard]] constexpr std::size_t node_cells() const noexcept {
    return 2 * strip_cells() * strips_per_node;
  }
  [[nodiscard]] constexpr bool is_checked(std::uint32_t sweeps) const noexcept {
    return sweeps % sweeps_per_check == 0 || sweeps == most_sweeps;
  }
};

/// A cell's next value. `Number` is double, or lanes of it.
///
/// Source   ComP-Net §5.3
template<class Number>
[[nodiscard]] Number relaxed(Number above, Number below, Number left, Number right) noexcept {
  return ((above + below) + (left + right)) * 0.25;
}

enum class side : std::uint32_t { above, below };

/// One node's part of the grid, in the symmetric heap, and what others tell it there.
struct grid {
  grid_shape shape;
  emu::global<double> cells; ///< node_cells()
  /// For each strip, side and parity of the sweep: how many sweeps the neighbour there has done. A
  /// word a parity: two sweeps of a neighbour may arrive in either order, three never do.
  emu::global<std::uint64_t> edges;
  /// For each parity of the check, everybody's largest change; and how many have come so far.
  emu::global<double> changes;
  emu::global<std::uint64_t> arrived;
  emu::global<std::uint64_t> sweeps; ///< device memory: what each strip has done

  /// The first cell of a row of a strip of this node, as it is after so many sweeps. Row 0 and row
  /// rows + 1 are the neighbours'.
  [[nodiscard]] emu::global<double> row(std::uint32_t strip, std::uint64_t after,
                                        std::uint32_t index) const noexcept {
    return cells + ((after % 2) * shape.strips_per_node + strip) * shape.strip_cells() +
           index * shape.row_cells();
  }
  [[nodiscard]] emu::global<std::uint64_t> edge(std::uint32_t strip, side from,
                                                std::uint64_t after) const noexcept {
    return edges + (strip * 2 + static_cast<std::uint32_t>(from)) * 2 + after % 2;
  }
  /// A strip's change, in the table of every node.
  [[nodiscard]] emu::global<double> change(std::uint32_t whose,
                                           std::uint64_t check) const noexcept {
    return changes + (check % 2) * shape.strips() + whose;
  }
  /// When `check` (from 1 on) is over.
  [[nodiscard]] std::uint64_t arrivals(std::uint64_t check) const noexcept {
    return (check + 1) / 2 * shape.strips();
  }
};

/// A row that a strip gives to a neighbour after a sweep.
struct halo {
  bool is_there; ///< there is a neighbour
  net::pe target{};
  emu::global<double> from{};
  emu::global<double> to{};
  emu::global<std::uint64_t> signal{};
};
/// To the neighbour on one side of strip `strip` of node `self`.
[[nodiscard]] inline halo halo_of(grid const& g, std::uint32_t self, std::uint32_t strip, side to,
                                  std::uint64_t after) noexcept {
  std::uint32_t const here = self * g.shape.strips_per_node + strip;
  bool const up = to == side::above;
  if (up ? here == 0 : here + 1 == g.shape.strips())
    return {.is_there = false};
  std::uint32_t const there = up ? here - 1 : here + 1;
  std::uint32_t const other = there % g.shape.strips_per_node;
  return {.is_there = true,
          .target = net::pe{there / g.shape.strips_per_node},
          .from = g.row(strip, after, up ? 1 : g.shape.rows),
          .to = g.row(other, after, up ? g.shape.rows + 1 : 0),
          .signal = g.edge(other, up ? side::below : side::above, after)};
}

/// One sweep over a strip, by a work-group. Gives the largest change, for each lane.
template<class W>
[[nodiscard]] typename W::template lanes<double> sweep(W& wf, grid const& g, std::uint32_t strip,
                                                       std::uint64_t done) {
  using numbers = typename W::template lanes<double>;
  numbers worst(0);
  for (std::uint32_t y = 1; y <= g.shape.rows; ++y) {
    auto const old = g.row(strip, done, y) + 1;
    auto const next = g.row(strip, done + 1, y) + 1;
    command::for_group_elements(wf, g.shape.columns, [&](std::uint32_t at) {
      auto const x = wf.local_id();
      auto const above = wf.load(old + at - g.shape.row_cells() + x);
      auto const below = wf.load(old + at + g.shape.row_cells() + x);
      auto const left = wf.load(old + at - 1 + x);
      auto const right = wf.load(old + at + 1 + x);
      numbers const value = relaxed(above, below, left, right);
      numbers const change = value - wf.load(old + at + x);
      wf.store(next + at + x, value);
      auto const is_inside = x.to_lanes() < static_cast<std::int32_t>(g.shape.columns - at);
      worst = select(is_inside, max(worst, max(change, numbers(0) - change)), worst);
    });
  }
  return worst;
}

/// After sweep `done`: a strip's edges go to its neighbours, and theirs have come.
task<> exchange_edges(emu::any_wavefront auto& wf, net::comp_net::context& ctx, grid const& g,
                      std::uint32_t self, std::uint32_t strip, std::uint32_t done) {
  for (side const to : {side::above, side::below})
    if (halo const h = halo_of(g, self, strip, to, done); h.is_there) {
      auto sent = ctx.put_signal(wf, h.to, h.from, g.shape.row_cells(), h.signal, done,
                                 net::shmem::signal_op::set, h.target);
      co_await std::move(sent);
    }
  for (side const from : {side::above, side::below})
    if (halo_of(g, self, strip, from, done).is_there) {
      auto came = ctx.wait_until(wf, g.edge(strip, from, done),
                                 net::shmem::comparison::greater_equal, done);
      co_await std::move(came);
    }
}

/// The whole relaxation in one kernel: every work-group sweeps over its strip, exchanges edges with
/// its neighbours, on this node or another, and agrees with all others on when to stop.
///
/// Source   ComP-Net §5.3
struct relax_wave {
  task<> operator()(emu::any_wavefront auto& wf, grid g, net::comp_net::device& net) const {
    auto made = net::comp_net::context::init(wf, net);
    net::comp_net::context ctx = co_await std::move(made);
    auto const strip = static_cast<std::uint32_t>(wf.linear_group_id());
    std::uint32_t const self = net.self().id;
    std::uint32_t done = 0;
    std::uint64_t checks = 0;
    for (double change = 2 * g.shape.tolerance;
         done < g.shape.most_sweeps && change > g.shape.tolerance;) {
      double const mine = co_await wf.group_reduce(sweep(wf, g, strip, done), emu::maximum{});
      ++done;
      task<> exchanged = exchange_edges(wf, ctx, g, self, strip, done);
      co_await std::move(exchanged);
      if (!g.shape.is_checked(done))
        continue;
      // Everybody tells everybody, and so all find the same.
      ++checks;
      std::uint32_t const here = self * g.shape.strips_per_node + strip;
      if (wf.index_in_group() == 0)
        wf.store(g.change(here, checks), mine);
      // This node's has its place already: putting it onto itself would race with who reads it.
      auto told_here = ctx.atomic_add(wf, g.arrived + checks % 2, 1, net.self());
      co_await std::move(told_here);
      for (std::uint32_t other = 0; other < net.pe_count(); ++other) {
        if (other == self)
          continue;
        auto told =
            ctx.put_signal(wf, g.change(here, checks), g.change(here, checks), 1,
                           g.arrived + checks % 2, 1, net::shmem::signal_op::add, net::pe{other});
        co_await std::move(told);
      }
      auto all = ctx.wait_until(wf, g.arrived + checks % 2, net::shmem::comparison::greater_equal,
                                g.arrivals(checks));
      co_await std::move(all);
      change = 0;
      for (std::uint32_t i = 0; i < g.shape.strips(); ++i)
        if (double const one = wf.load(g.change(i, checks)); one > change)
          change = one;
    }
    if (wf.index_in_group() == 0)
      wf.store(g.sweeps + strip, done);
    auto ended = ctx.destroy(wf);
    co_await std::move(ended);
  }
};

/// One sweep over all strips of a node, between exchanges of the host.
struct sweep_wave {
  task<> operator()(emu::any_wavefront auto& wf, grid g, std::uint64_t done,
                    emu::global<double> changes) const {
    auto const strip = static_cast<std::uint32_t>(wf.linear_group_id());
    double const mine = co_await wf.group_reduce(sweep(wf, g, strip, done), emu::maximum{});
    if (wf.index_in_group() == 0)
      wf.store(changes + strip, mine);
  }
};

} // namespace quarry::jacobi

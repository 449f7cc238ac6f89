// SPDX-License-Identifier: Apache-2.0
// The kernels of ping_pong, jacobi and sgd, as `quarry run` has them, on two small nodes.
#include "comp_net_nodes.hpp"
#include "targets.hpp"

#include <algorithm>
#include <allreduce/kernel.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <jacobi/kernel.hpp>
#include <jacobi/reference.hpp>
#include <ping_pong/kernel.hpp>
#include <ping_pong/reference.hpp>
#include <sgd/kernel.hpp>
#include <sgd/reference.hpp>
#include <string>
#include <utility>
#include <vector>

namespace quarry::exploration {
namespace {

using namespace quarry::emu;

/// Every word the same.
struct fill_words {
  template<class T>
  void operator()(any_wavefront auto& wf, global<T> words, std::uint32_t count, T value) const {
    for (std::uint32_t i = 0; i < count; ++i)
      wf.store(words + i, value);
  }
};

// Ping-pong, and gets

void run_ping_pong(world& w, weakening const* weak, bool gets) {
  constexpr std::uint32_t groups = 2;
  constexpr ping_pong::message_shape shape{.rounds = 2, .words = 3};
  run_program(w, weak, {.rings = groups, .heap_bytes = 512}, [&](program_node& n) {
    auto const inbox = n.allocate<std::uint64_t>(groups * shape.words);
    auto const signals = n.allocate<std::uint64_t>(groups);
    auto outbox = n.gpu.template allocate<std::uint64_t>(groups * shape.words, "outbox");
    auto checks = n.gpu.template allocate<std::uint64_t>(groups, "checks");
    ping_pong::mailboxes const m{shape, inbox, outbox.global(), signals, checks.global()};
    auto const all = program_node::wavefronts(groups);
    if (gets) {
      ping_pong::mailboxes mine = m;
      mine.outbox = inbox; // what the partner gets
      n.run(all, ping_pong::fill_wave{}, mine, n.id, 0U);
    } else {
      n.run(program_node::wavefronts(1), fill_words{}, signals, groups, std::uint64_t{0});
    }
    auto const met = n.net.shmem().barrier_all();
    w.check(static_cast<bool>(met), "the nodes have not met");
    if (gets)
      n.run(all, ping_pong::get_wave{}, m, std::ref(n.net.device()));
    else
      n.run(all, ping_pong::ping_pong_wave{}, m, std::ref(n.net.device()));
    for (std::uint32_t g = 0; g < groups; ++g)
      w.check(checks.host()[g] == ping_pong::reference(shape, 1 - n.id, g, gets),
              "a wrong message");
  });
}

// Jacobi

/// Around the grid 1 above, 0 elsewhere and within.
struct lay_out {
  void operator()(any_wavefront auto& wf, jacobi::grid g, bool is_first) const {
    jacobi::grid_shape const& s = g.shape;
    for (std::uint32_t parity = 0; parity < 2; ++parity)
      for (std::uint32_t strip = 0; strip < s.strips_per_node; ++strip)
        for (std::uint32_t i = 0; i < s.strip_cells(); ++i)
          wf.store(g.row(strip, parity, 0) + i,
                   is_first && strip == 0 && i < s.row_cells() ? 1.0 : 0.0);
  }
};
/// Are a node's rows those of the serial reference?
struct check_rows {
  void operator()(any_wavefront auto& wf, jacobi::grid g, std::uint32_t self,
                  jacobi::relaxation const& right, world& w) const {
    jacobi::grid_shape const& s = g.shape;
    for (std::uint32_t strip = 0; strip < s.strips_per_node; ++strip) {
      w.check(wf.load(g.sweeps + strip) == right.sweeps, "a strip has done other sweeps");
      for (std::uint32_t y = 1; y <= s.rows; ++y)
        for (std::uint32_t x = 1; x <= s.columns; ++x) {
          std::size_t const row = std::size_t{self * s.strips_per_node + strip} * s.rows + y;
          w.check(wf.load(g.row(strip, right.sweeps, y) + x) ==
                      right.cells[row * s.row_cells() + x],
                  "a wrong cell");
        }
    }
  }
};

void run_jacobi(world& w, weakening const* weak) {
  constexpr jacobi::grid_shape shape{.node_count = nodes,
                                     .strips_per_node = 2,
                                     .rows = 1,
                                     .columns = 2,
                                     .most_sweeps = 3,
                                     .sweeps_per_check = 1,
                                     .tolerance = 1e-9};
  constexpr std::uint32_t edges = shape.strips_per_node * 4, changes = 2 * shape.strips();
  jacobi::relaxation const right = jacobi::reference(shape);
  run_program(w, weak, {.rings = shape.strips_per_node, .heap_bytes = 4096}, [&](program_node& n) {
    jacobi::grid g{.shape = shape,
                   .cells = n.allocate<double>(shape.node_cells()),
                   .edges = n.allocate<std::uint64_t>(edges),
                   .changes = n.allocate<double>(changes),
                   .arrived = n.allocate<std::uint64_t>(2),
                   .sweeps = {}};
    auto sweeps = n.gpu.template allocate<std::uint64_t>(shape.strips_per_node, "sweeps");
    g.sweeps = sweeps.global();
    auto const one = program_node::wavefronts(1);
    n.run(one, lay_out{}, g, n.id == 0);
    n.run(one, fill_words{}, g.edges, edges, std::uint64_t{0});
    n.run(one, fill_words{}, g.arrived, 2U, std::uint64_t{0});
    auto const met = n.net.shmem().barrier_all();
    w.check(static_cast<bool>(met), "the nodes have not met");
    n.run(program_node::wavefronts(shape.strips_per_node), jacobi::relax_wave{}, g,
          std::ref(n.net.device()));
    n.run(one, check_rows{}, g, n.id, std::cref(right), std::ref(w));
  });
}

// A step of stochastic gradient descent

void run_sgd(world& w, weakening const* weak) {
  using namespace sgd;
  constexpr training learning{.seed = 1, .steps = 1, .batch = 4, .sample_count = 4, .rate = 1};
  constexpr std::uint32_t steps_of_ring = 2 * (nodes - 1);
  parameters const right = reference(learning);
  run_program(w, weak, {.heap_bytes = 1024}, [&](program_node& n) {
    allreduce::rings const r{nodes,
                             1,
                             parameter_count,
                             n.allocate<float>(parameter_count),
                             n.allocate<float>(parameter_count),
                             n.allocate<std::uint64_t>(steps_of_ring)};
    auto weights = n.gpu.template allocate<float>(parameter_count, "weights");
    auto partials = n.gpu.template allocate<float>(
        std::size_t{device_model::waves(1)} * parameter_count, "partial gradients");
    auto samples = n.gpu.template allocate<float>(3 * learning.sample_count, "samples");
    std::ranges::copy(first_parameters(learning.seed), weights.host().begin());
    for (std::uint32_t i = 0; i < learning.sample_count; ++i) {
      sample const s = make_sample(learning.seed, i);
      samples.host()[i] = s.x;
      samples.host()[learning.sample_count + i] = s.y;
      samples.host()[2 * learning.sample_count + i] = s.label;
    }
    global<float const> const first = samples.global();
    device_model const m{.weights = weights.global(),
                         .gradient = r.data,
                         .partials = partials.global(),
                         .x = first,
                         .y = first + learning.sample_count,
                         .label = first + 2 * learning.sample_count,
                         .sample_count = learning.sample_count};
    auto const mine = allreduce::range{0, learning.batch}.part(n.id, nodes);
    launch_config const whole{.work_groups = 1, .work_items_per_group = group_size};
    auto const one = program_node::wavefronts(1);
    n.run(one, fill_words{}, r.signals, steps_of_ring, std::uint64_t{0});
    auto const met = n.net.shmem().barrier_all();
    w.check(static_cast<bool>(met), "the nodes have not met");
    n.run(whole, gradient_wave{}, m, mine.first, mine.count);
    n.run(whole, gather_wave{}, m, 1U);
    n.run(one, allreduce::ring_wave{}, r, std::uint64_t{1}, std::ref(n.net.device()));
    n.run(whole, descend_wave{}, m, learning.rate / static_cast<float>(learning.batch));
    for (std::uint32_t i = 0; i < parameter_count; ++i)
      w.check(std::abs(weights.host()[i] - right[i]) <= 1e-5F, "a wrong weight");
  });
}

// Every command is waited for: its status orders what the read index does otherwise.
std::vector<std::string> const ordered_by_status{"refresh_read_index=relaxed",
                                                 "advance_read_index=relaxed"};

} // namespace

target ping_pong_target() {
  return {.name = "ping-pong",
          .what = "two nodes in one process: the kernel of ping_pong, two work-groups, two rounds",
          .weakenings = program_weakenings(),
          .run = [](world& w, weakening const* weak) { run_ping_pong(w, weak, false); },
          .most_decisions = 100'000,
          .indistinguishable = ordered_by_status};
}
target ping_pong_get_target() {
  auto orders_of_gets = program_weakenings();
  std::erase_if(orders_of_gets, [](weakening const& w) { // nobody puts there, or waits
    return w.entry == "apply_word" || w.entry == "wait";
  });
  return {.name = "ping-pong-get",
          .what = "the same with ping_pong's gets",
          .weakenings = std::move(orders_of_gets),
          .run = [](world& w, weakening const* weak) { run_ping_pong(w, weak, true); },
          .most_decisions = 100'000,
          .indistinguishable = ordered_by_status};
}
target jacobi_target() {
  return {.name = "jacobi",
          .what = "two nodes in one process: Jacobi's kernel, two strips each, three sweeps",
          .weakenings = program_weakenings(),
          .run = run_jacobi,
          .most_decisions = 100'000,
          .indistinguishable = {"refresh_read_index=relaxed"}};
}
target sgd_target() {
  return {.name = "sgd",
          .what = "two nodes in one process: a step of sgd, its gradients through an allreduce",
          .weakenings = program_weakenings(),
          .run = run_sgd,
          .most_decisions = 100'000,
          .indistinguishable = ordered_by_status};
}

} // namespace quarry::exploration

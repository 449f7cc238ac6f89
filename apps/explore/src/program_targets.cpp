// SPDX-License-Identifier: Apache-2.0
// The kernels of ping_pong, jacobi and sgd, and what their hosts do where kernels do not
// communicate, as `quarry run` has them, on two small nodes.
#include "comp_net_nodes.hpp"
#include "targets.hpp"

#include <algorithm>
#include <allreduce/host_rings.hpp>
#include <allreduce/kernel.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <jacobi/host_relaxation.hpp>
#include <jacobi/kernel.hpp>
#include <jacobi/reference.hpp>
#include <ping_pong/host_player.hpp>
#include <ping_pong/kernel.hpp>
#include <ping_pong/reference.hpp>
#include <sgd/kernel.hpp>
#include <sgd/reference.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry::exploration {
namespace {

using namespace quarry::emu;

// Ping-pong, and gets

constexpr std::uint32_t group_size = node_machine.wavefront_size;

void run_ping_pong(world& w, weakening const* weak, std::string_view configuration,
                   ping_pong::pattern_kind pattern) {
  constexpr std::uint32_t groups = 2;
  constexpr ping_pong::message_shape message{.rounds = 2, .words = 3};
  bool const gets = pattern == ping_pong::pattern_kind::get;
  program_shape const shape{.rings = groups, .heap_bytes = 512, .configuration = configuration};
  run_program(w, weak, shape, [&](program_node& n) {
    auto const inbox = n.allocate<std::uint64_t>(groups * message.words);
    auto const signals = n.allocate<std::uint64_t>(groups);
    auto outbox = n.gpu.template allocate<std::uint64_t>(groups * message.words, "outbox");
    auto checks = n.gpu.template allocate<std::uint64_t>(groups, "checks");
    ping_pong::mailboxes const m{message, inbox, outbox.global(), signals, checks.global()};
    auto const all = program_node::wavefronts(groups);
    n.fill(signals, groups, std::uint64_t{0});
    if (gets)
      n.once([&](auto& who) { // what the partner gets
        for (std::uint32_t g = 0; g < groups; ++g)
          for (std::uint64_t i = 0; i < message.words; ++i)
            who.store(inbox + m.place(g) + i,
                      ping_pong::word_of(ping_pong::first_word(message, n.id, g, 0), i));
      });
    n.check_ok(n.host().barrier_all());
    if (!n.has_device_calls())
      n.check_ok(ping_pong::host_player(n, m, groups, group_size).play(pattern));
    else if (gets)
      n.run(all, ping_pong::get_wave{}, m, std::ref(n.net.device()));
    else
      n.run(all, ping_pong::ping_pong_wave{}, m, std::ref(n.net.device()));
    n.once([&](auto& who) {
      for (std::uint32_t g = 0; g < groups; ++g)
        w.check(who.load(m.checks + g) == ping_pong::reference(message, 1 - n.id, g, gets),
                "a wrong message");
    });
  });
}

// Jacobi

/// Around the grid 1 above, 0 elsewhere and within.
void lay_out(auto& who, jacobi::grid const& g, bool is_first) {
  jacobi::grid_shape const& s = g.shape;
  for (std::uint32_t parity = 0; parity < 2; ++parity)
    for (std::uint32_t strip = 0; strip < s.strips_per_node; ++strip)
      for (std::uint32_t i = 0; i < s.strip_cells(); ++i)
        who.store(g.row(strip, parity, 0) + i,
                  is_first && strip == 0 && i < s.row_cells() ? 1.0 : 0.0);
}
/// Are a node's rows those of the serial reference?
void check_rows(auto& who, jacobi::grid const& g, std::uint32_t self,
                jacobi::relaxation const& right, world& w) {
  jacobi::grid_shape const& s = g.shape;
  for (std::uint32_t strip = 0; strip < s.strips_per_node; ++strip) {
    w.check(who.load(g.sweeps + strip) == right.sweeps, "a strip has done other sweeps");
    for (std::uint32_t y = 1; y <= s.rows; ++y)
      for (std::uint32_t x = 1; x <= s.columns; ++x) {
        std::size_t const row = std::size_t{self * s.strips_per_node + strip} * s.rows + y;
        w.check(who.load(g.row(strip, right.sweeps, y) + x) == right.cells[row * s.row_cells() + x],
                "a wrong cell");
      }
  }
}

void run_jacobi(world& w, weakening const* weak, std::string_view configuration) {
  constexpr jacobi::grid_shape size{.node_count = nodes,
                                    .strips_per_node = 2,
                                    .rows = 1,
                                    .columns = 2,
                                    .most_sweeps = 3,
                                    .sweeps_per_check = 1,
                                    .tolerance = 1e-9};
  constexpr std::uint32_t edges = size.strips_per_node * 4, changes = 2 * size.strips();
  jacobi::relaxation const right = jacobi::reference(size);
  program_shape const shape{
      .rings = size.strips_per_node, .heap_bytes = 4096, .configuration = configuration};
  run_program(w, weak, shape, [&](program_node& n) {
    jacobi::grid g{.shape = size,
                   .cells = n.allocate<double>(size.node_cells()),
                   .edges = n.allocate<std::uint64_t>(edges),
                   .changes = n.allocate<double>(changes),
                   .arrived = n.allocate<std::uint64_t>(2),
                   .sweeps = {}};
    auto sweeps = n.gpu.template allocate<std::uint64_t>(size.strips_per_node, "sweeps");
    g.sweeps = sweeps.global();
    n.once([&](auto& who) { lay_out(who, g, n.id == 0); });
    n.fill(g.edges, edges, std::uint64_t{0});
    n.fill(g.arrived, 2, std::uint64_t{0});
    n.check_ok(n.host().barrier_all());
    if (n.has_device_calls())
      n.run(program_node::wavefronts(size.strips_per_node), jacobi::relax_wave{}, g,
            std::ref(n.net.device()));
    else
      n.check_ok(jacobi::host_relaxation(n, g, group_size).run());
    n.once([&](auto& who) { check_rows(who, g, n.id, right, w); });
  });
}

// A step of stochastic gradient descent

/// A node without a GPU: its gradient, the sum, and the step down.
sgd::parameters learn_by_host(program_node& n, sgd::training const& t, allreduce::rings const& r) {
  sgd::parameters learnt = sgd::first_parameters(t.seed), gradient{};
  auto const mine = allreduce::range{0, t.batch}.part(n.id, nodes);
  for (std::uint32_t i = mine.first; i < mine.first + mine.count; ++i)
    sgd::network(learnt).add_gradient(t.at(0, i), gradient);
  for (std::uint32_t i = 0; i < sgd::parameter_count; ++i)
    n.memory(0).store(r.data + i, gradient[i]);
  n.check_ok(allreduce::host_rings(n, r, 1, group_size).sum());
  for (std::uint32_t i = 0; i < sgd::parameter_count; ++i)
    gradient[i] = n.memory(0).load(r.data + i);
  t.descend(learnt, gradient);
  return learnt;
}

/// The same with kernels.
sgd::parameters learn_by_kernels(program_node& n, sgd::training const& t,
                                 allreduce::rings const& r) {
  using namespace sgd;
  auto weights = n.gpu.template allocate<float>(parameter_count, "weights");
  auto partials = n.gpu.template allocate<float>(
      std::size_t{device_model::waves(1)} * parameter_count, "partial gradients");
  auto samples = n.gpu.template allocate<float>(3 * t.sample_count, "samples");
  std::ranges::copy(first_parameters(t.seed), weights.host().begin());
  for (std::uint32_t i = 0; i < t.sample_count; ++i) {
    sample const s = make_sample(t.seed, i);
    samples.host()[i] = s.x;
    samples.host()[t.sample_count + i] = s.y;
    samples.host()[2 * t.sample_count + i] = s.label;
  }
  global<float const> const first = samples.global();
  device_model const m{.weights = weights.global(),
                       .gradient = r.data,
                       .partials = partials.global(),
                       .x = first,
                       .y = first + t.sample_count,
                       .label = first + 2 * t.sample_count,
                       .sample_count = t.sample_count};
  auto const mine = allreduce::range{0, t.batch}.part(n.id, nodes);
  launch_config const whole{.work_groups = 1, .work_items_per_group = sgd::group_size};
  n.run(whole, gradient_wave{}, m, mine.first, mine.count);
  n.run(whole, gather_wave{}, m, 1U);
  if (n.has_device_calls())
    n.run(program_node::wavefronts(1), allreduce::ring_wave{}, r, std::uint64_t{1},
          std::ref(n.net.device()));
  else
    n.check_ok(allreduce::host_rings(n, r, 1, exploration::group_size).sum());
  n.run(whole, descend_wave{}, m, t.rate / static_cast<float>(t.batch));
  parameters learnt;
  std::ranges::copy(weights.host(), learnt.begin());
  return learnt;
}

void run_sgd(world& w, weakening const* weak, std::string_view configuration) {
  using namespace sgd;
  constexpr training learning{.seed = 1, .steps = 1, .batch = 4, .sample_count = 4, .rate = 1};
  constexpr std::uint32_t steps_of_ring = 2 * (nodes - 1);
  parameters const right = reference(learning);
  program_shape const shape{.heap_bytes = 1024, .configuration = configuration};
  run_program(w, weak, shape, [&](program_node& n) {
    allreduce::rings const r{nodes,
                             1,
                             parameter_count,
                             n.allocate<float>(parameter_count),
                             n.allocate<float>(parameter_count),
                             n.allocate<std::uint64_t>(steps_of_ring)};
    n.fill(r.signals, steps_of_ring, std::uint64_t{0});
    n.check_ok(n.host().barrier_all());
    parameters const learnt =
        n.uses_gpu() ? learn_by_kernels(n, learning, r) : learn_by_host(n, learning, r);
    for (std::uint32_t i = 0; i < parameter_count; ++i)
      w.check(std::abs(learnt[i] - right[i]) <= 1e-5F, "a wrong weight");
  });
}

} // namespace

std::vector<target> ping_pong_targets() {
  return in_every_configuration(
      {.name = "ping-pong",
       .what = "two nodes in one process: ping_pong, two work-groups, two rounds",
       .run =
           [](world& w, weakening const* weak, std::string_view configuration) {
             run_ping_pong(w, weak, configuration, ping_pong::pattern_kind::put);
           },
       .needs = {"apply_word", "wait"},
       .ordered_otherwise = ordered_by_status});
}
std::vector<target> ping_pong_get_targets() {
  return in_every_configuration(
      {.name = "ping-pong-get",
       .what = "the same with ping_pong's gets",
       .run =
           [](world& w, weakening const* weak, std::string_view configuration) {
             run_ping_pong(w, weak, configuration, ping_pong::pattern_kind::get);
           },
       .needs = {}, // nobody puts there, or waits
       .ordered_otherwise = ordered_by_status});
}
std::vector<target> jacobi_targets() {
  return in_every_configuration(
      {.name = "jacobi",
       .what = "two nodes in one process: Jacobi's relaxation, two strips each, three sweeps",
       .run = run_jacobi,
       .needs = {"apply_word", "wait"},
       .ordered_otherwise = {"refresh_read_index=relaxed"}});
}
std::vector<target> sgd_targets() {
  return in_every_configuration(
      {.name = "sgd",
       .what = "two nodes in one process: a step of sgd, its gradients through an allreduce",
       .run = run_sgd,
       .needs = {"apply_word", "wait"},
       .ordered_otherwise = ordered_by_status});
}

} // namespace quarry::exploration

// SPDX-License-Identifier: Apache-2.0
// The allreduce of apps/allreduce: kernels or hosts on two nodes, a ring, their services and the
// network.
#include "comp_net_nodes.hpp"
#include "targets.hpp"

#include <allreduce/host_rings.hpp>
#include <allreduce/kernel.hpp>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace quarry::exploration {
namespace {

using namespace quarry::emu;
using namespace quarry::net;

constexpr std::uint32_t elements = 16;
constexpr std::uint32_t sums = 2; // a second one shows whether the first one was over

/// What node `id` adds to element i.
constexpr float part(std::uint32_t id, std::uint64_t number, std::uint32_t i) {
  return static_cast<float>(100 * number + std::uint64_t{10} * id + i);
}

void run_allreduce(world& w, weakening const* weak, std::string_view configuration) {
  // A node without a GPU has two threads, a ring each.
  std::uint32_t const ring_count = configuration == comp_net::cpu::name ? 2 : 1;
  program_shape const shape{.heap_bytes = 512, .configuration = configuration};
  run_program(w, weak, shape, [&](program_node& n) {
    allreduce::rings const r{nodes,
                             ring_count,
                             elements,
                             n.allocate<float>(elements),
                             n.allocate<float>(elements),
                             n.allocate<std::uint64_t>(ring_count * 2)};
    for (std::uint64_t number = 1; number <= sums; ++number) {
      n.once([&](auto& who) {
        for (std::uint32_t i = 0; i < elements; ++i)
          who.store(r.data + i, part(n.id, number, i));
      });
      if (n.has_device_calls())
        n.run(program_node::wavefronts(1), allreduce::ring_wave{}, r, number,
              std::ref(n.net.device()));
      else
        n.check_ok(allreduce::host_rings(n, r, number, node_machine.wavefront_size).sum());
      n.once([&](auto& who) {
        for (std::uint32_t i = 0; i < elements; ++i)
          w.check(who.load(r.data + i) == part(0, number, i) + part(1, number, i), "a wrong sum");
      });
    }
  });
}

} // namespace

std::vector<target> allreduce_targets() {
  return in_every_configuration(
      {.name = "allreduce",
       .what = "two nodes in one process: a ring of ComP-Net's allreduce sums a vector twice",
       .run = run_allreduce,
       .needs = {"apply_word", "wait"},
       // Every command is waited for: its status orders what the read index does otherwise.
       .indistinguishable = {"refresh_read_index=relaxed", "advance_read_index=relaxed"}});
}

} // namespace quarry::exploration

// SPDX-License-Identifier: Apache-2.0
// The allreduce of apps/allreduce: kernels or hosts on two nodes or three, a ring, their services
// and the network.
#include "comp_net_nodes.hpp"
#include "targets.hpp"

#include <allreduce/host_rings.hpp>
#include <allreduce/kernel.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
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

/// The sum of all parts.
constexpr float whole(std::uint32_t count, std::uint64_t number, std::uint32_t i) {
  float sum = 0;
  for (std::uint32_t id = 0; id < count; ++id)
    sum += part(id, number, i);
  return sum;
}

void run_allreduce(world& w, weakening const* weak, std::string_view configuration,
                   std::uint32_t count) {
  // A node without a GPU has two threads, a ring each.
  std::uint32_t const ring_count = configuration == comp_net::cpu.name ? 2 : 1;
  program_shape const shape{.heap_bytes = 512, .count = count, .configuration = configuration};
  run_program(w, weak, shape, [&](program_node& n) {
    allreduce::rings const r{count,
                             ring_count,
                             elements,
                             n.allocate<float>(elements),
                             n.allocate<float>(elements),
                             n.allocate<std::uint64_t>(ring_count * 2 * (count - 1))};
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
          w.check(who.load(r.data + i) == whole(count, number, i), "a wrong sum");
      });
    }
  });
}

program_case allreduce_of(std::string name, std::string what, std::uint32_t count) {
  return {.name = std::move(name),
          .what = std::move(what),
          .run =
              [count](world& w, weakening const* weak, std::string_view configuration) {
                run_allreduce(w, weak, configuration, count);
              },
          .needs = {"apply_word", "wait"},
          .ordered_otherwise = ordered_by_status};
}

} // namespace

std::vector<target> allreduce_targets() {
  return in_every_configuration(allreduce_of(
      "allreduce", "two nodes in one process: a ring of ComP-Net's allreduce sums a vector twice",
      nodes));
}

std::vector<target> allreduce_three_targets() {
  return in_every_configuration(
      allreduce_of("allreduce-three", "three nodes in one process: the same, in four steps", 3));
}

} // namespace quarry::exploration

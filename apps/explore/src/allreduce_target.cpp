// SPDX-License-Identifier: Apache-2.0
// The allreduce of apps/allreduce: kernels on two nodes, a ring, their services and the network.
#include "comp_net_nodes.hpp"
#include "targets.hpp"

#include <allreduce/kernel.hpp>
#include <cstdint>
#include <functional>

namespace quarry::exploration {
namespace {

using namespace quarry::emu;
using namespace quarry::net;

constexpr std::uint32_t elements = 8;
constexpr std::uint32_t sums = 2; // a second one shows whether the first one was over

/// What node `id` adds to element i.
constexpr float part(std::uint32_t id, std::uint64_t number, std::uint32_t i) {
  return static_cast<float>(100 * number + std::uint64_t{10} * id + i);
}

struct write_parts {
  void operator()(any_wavefront auto& wf, allreduce::rings r, std::uint32_t id,
                  std::uint64_t number) const {
    for (std::uint32_t i = 0; i < elements; ++i)
      wf.store(r.data + i, part(id, number, i));
  }
};
struct check_sums {
  void operator()(any_wavefront auto& wf, allreduce::rings r, std::uint64_t number,
                  world& w) const {
    for (std::uint32_t i = 0; i < elements; ++i)
      w.check(wf.load(r.data + i) == part(0, number, i) + part(1, number, i), "a wrong sum");
  }
};

void run_allreduce(world& w, weakening const* weak) {
  run_program(w, weak, {.heap_bytes = 512}, [&](program_node& n) {
    allreduce::rings const r{nodes,
                             1,
                             elements,
                             n.allocate<float>(elements),
                             n.allocate<float>(elements),
                             n.allocate<std::uint64_t>(4)};
    auto const one = program_node::wavefronts(1);
    for (std::uint64_t number = 1; number <= sums; ++number) {
      n.run(one, write_parts{}, r, n.id, number);
      n.run(one, allreduce::ring_wave{}, r, number, std::ref(n.net.device()));
      n.run(one, check_sums{}, r, number, std::ref(w));
    }
  });
}

} // namespace

target allreduce_target() {
  return {.name = "allreduce",
          .what = "two nodes in one process: a ring of ComP-Net's allreduce sums a vector twice",
          .weakenings = program_weakenings(),
          .run = run_allreduce,
          .most_decisions = 100'000,
          // Every command is waited for: its status orders what the read index does otherwise.
          .indistinguishable = {"refresh_read_index=relaxed", "advance_read_index=relaxed"}};
}

} // namespace quarry::exploration

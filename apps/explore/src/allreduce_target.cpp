// SPDX-License-Identifier: Apache-2.0
// The allreduce of apps/allreduce: kernels on two nodes, a ring, their services and the network.
#include "targets.hpp"
#include "two_nodes.hpp"

#include <allreduce/kernel.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

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
  run_nodes(w, [&](std::uint32_t id, std::unique_ptr<in_process> end) {
    explored_agent gpu(w.scheduler(), node_machine);
    comp_net::node::options const o{
        .rings = 1,
        .ring_entries = 2,
        .reduce_bytes = 64,
        .ring = weakened_partly<agent_ring_orders>(weak),
        .shmem = {.heap_bytes = 512,
                  .most_teams = 1,
                  .team_bytes = 512,
                  .orders = weakened_partly<shmem::shmem_orders>(weak)}};
    auto net = comp_net::node::start(gpu.core(), std::move(end), o);
    w.check(net.has_value(), net ? "" : net.error().what);
    if (!net)
      return;
    auto const data = net->shmem().malloc<float>(elements);
    auto const staging = net->shmem().malloc<float>(elements);
    auto const signals = net->shmem().malloc<std::uint64_t>(4);
    w.check(data && staging && signals, "the heap is too small");
    if (!data || !staging || !signals)
      return;
    allreduce::rings const r{nodes,
                             1,
                             elements,
                             global<float>(data->data()),
                             global<float>(staging->data()),
                             global<std::uint64_t>(signals->data())};
    launch_config const one{
        .work_items = 32, .work_items_per_group = 32, .lds_bytes = comp_net::context::lds_bytes};
    for (std::uint64_t number = 1; number <= sums; ++number) {
      static_cast<void>(gpu.run(one, write_parts{}, r, id, number));
      static_cast<void>(gpu.run(one, allreduce::ring_wave{}, r, number, std::ref(net->device())));
      static_cast<void>(gpu.run(one, check_sums{}, r, number, std::ref(w)));
    }
    auto const done = net->finish();
    w.check(static_cast<bool>(done), done ? "" : done.error().what);
  });
}

/// Of both tables what a ring of allreduce needs: a put with a signal that is set, and a wait.
std::vector<weakening> used_entries() {
  auto all = weakenings_of<agent_ring_orders>();
  auto const more = weakenings_of<shmem::shmem_orders>();
  all.insert(all.end(), more.begin(), more.end());
  return of_entries(std::move(all),
                    {"refresh_read_index", "post_status", "await_status", "poll_status",
                     "complete_status", "advance_read_index", "apply_word", "wait"});
}

} // namespace

target allreduce_target() {
  return {.name = "allreduce",
          .what = "two nodes in one process: a ring of ComP-Net's allreduce sums a vector twice",
          .weakenings = used_entries(),
          .run = run_allreduce,
          .most_decisions = 100'000,
          // Every command is waited for: its status orders what the read index does otherwise.
          .indistinguishable = {"refresh_read_index=relaxed", "advance_read_index=relaxed"}};
}

} // namespace quarry::exploration

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explored_threads.hpp"
#include "few_nodes.hpp"

#include <quarry/explore/target.hpp>
#include <quarry/explore/weakening.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry::exploration {

/// A kernel that calls f(wavefront).
template<class F>
struct by_wavefront {
  F f;
  void operator()(emu::any_wavefront auto& wf) const { f(wf); }
};

/// One of the nodes on which a ComP-Net program runs, as command::comp_net_node.
struct program_node {
  world& w;
  std::uint32_t id;
  std::uint32_t count; ///< of the job
  emu::explored_agent& gpu;
  net::comp_net::node& net;
  explored_threads& threads;

  [[nodiscard]] net::shmem::node& host() const { return net.shmem(); }
  [[nodiscard]] bool has_device_calls() const { return net.configuration().has_device_calls(); }
  [[nodiscard]] bool uses_gpu() const { return net.configuration().uses_gpu; }
  [[nodiscard]] world_core& memory(std::uint32_t thread) const { return threads.memory(thread); }
  void check_ok(result<void> const& r) const {
    w.check(static_cast<bool>(r), r ? "" : r.error().what);
  }

  /// Symmetric memory; null, and a failure of the world, if the heap is too small.
  template<class T>
  [[nodiscard]] emu::global<T> allocate(std::size_t count) {
    auto const made = net.shmem().malloc<T>(count);
    w.check(made.has_value(), made ? "" : made.error().what);
    return emu::global<T>(made ? made->data() : nullptr);
  }
  /// `groups` of one wavefront each, which have a context.
  [[nodiscard]] static emu::launch_config wavefronts(std::uint32_t groups) {
    return {.work_items = groups * node_machine.wavefront_size,
            .work_items_per_group = node_machine.wavefront_size,
            .lds_bytes = net::comp_net::context::lds_bytes};
  }
  template<class... A>
  void run(emu::launch_config const& config, A&&... kernel_and_arguments) {
    static_cast<void>(gpu.run(config, std::forward<A>(kernel_and_arguments)...));
  }
  /// f(who), who loads and stores: a wavefront or, without a GPU, the host.
  template<class F>
  void once(F const& f) {
    if (uses_gpu())
      run(wavefronts(1), by_wavefront<F>{f});
    else
      f(memory(0));
  }
  /// Every word `value`.
  template<class T>
  void fill(emu::global<T> words, std::uint32_t word_count, T value) {
    once([=](auto& who) {
      for (std::uint32_t i = 0; i < word_count; ++i)
        who.store(words + i, value);
    });
  }
};

struct program_shape {
  std::uint32_t rings = 1;     ///< of two entries each
  std::size_t heap_bytes = 0;  ///< beside what the rings meet by
  std::uint32_t count = nodes; ///< of nodes
  std::string_view configuration = net::comp_net::on_command_processor.name;
};

/// Runs body(node) on each of the nodes.
template<class F>
void run_program(world& w, weakening const* weak, program_shape const& shape, F const& body) {
  // Where the service is on the agent, agent scope is far enough.
  auto const ring = shape.configuration == net::comp_net::on_command_processor.name
                        ? weakened_partly<agent_ring_orders>(weak)
                        : weakened_partly<net::comp_net::ring_orders>(weak);
  std::deque<explored_threads> threads;
  for (std::uint32_t id = 0; id < shape.count; ++id)
    if (threads.emplace_back(w); shape.configuration == net::comp_net::cpu.name)
      threads.back().start_other("another thread of node " + std::to_string(id));
  auto const run = [&](std::uint32_t id, std::unique_ptr<net::in_process> end, world_core& self) {
    explored_threads::use const mine(threads[id], self);
    emu::explored_agent gpu(w.scheduler(), node_machine);
    net::comp_net::node::options const o{
        .configuration = shape.configuration,
        .rings = shape.rings,
        .ring_entries = 2,
        .reduce_bytes = 64,
        .ring = ring,
        .shmem = {.heap_bytes = shape.heap_bytes,
                  .most_teams = 1,
                  .team_bytes = 512,
                  .orders = weakened_partly<net::shmem::shmem_orders>(weak)}};
    auto net = net::comp_net::node::start(gpu.core(), std::move(end), o);
    w.check(net.has_value(), net ? "" : net.error().what);
    if (!net)
      return;
    program_node node{w, id, shape.count, gpu, *net, threads[id]};
    body(node);
    node.check_ok(net->finish());
  };
  run_nodes(w, run, shape.count);
}

/// The entries of the rings' table and of shmem's. Without those of contexts and of jobs that fail,
/// which comp-net-ring has: kernels here come one after the other, and nothing fails.
template<class Rings>
[[nodiscard]] std::vector<weakening> both_tables() {
  auto all = weakenings_of<Rings>();
  for (std::string_view const elsewhere :
       {"open_context", "close_context", "tell_failure", "see_failure"})
    std::erase_if(all, [&](weakening const& w) { return w.entry == elsewhere; });
  auto const more = weakenings_of<net::shmem::shmem_orders>();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// A program in one of ComP-Net's configurations.
struct program_case {
  std::string name;
  std::string what;
  std::function<void(world&, weakening const*, std::string_view configuration)> run;
  /// Of both tables what the program needs, beside what every command that is waited for does.
  std::vector<std::string_view> needs;
  /// Where kernels communicate: what nobody notices, as others order the same. comp-net-ring does.
  std::vector<std::string_view> ordered_otherwise;
};

/// Every command is waited for: its status orders what the read index does otherwise.
inline std::vector<std::string_view> const ordered_by_status{"refresh_read_index=relaxed",
                                                             "advance_read_index=relaxed"};

/// The program as a target: "NAME" in comp_net, "NAME-dgpu", and so on.
[[nodiscard]] target in_configuration(program_case const& c, std::string_view configuration);
/// In each of the five.
[[nodiscard]] std::vector<target> in_every_configuration(program_case const& c);

} // namespace quarry::exploration

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/agent_core.hpp>
#include <quarry/emu/buffer.hpp>
#include <quarry/net/comp_net/device.hpp>
#include <quarry/net/comp_net/ring.hpp>
#include <quarry/net/in_process.hpp>
#include <quarry/net/shmem/node.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace comp_net_test {

/// The device of a job of one pe, whose rings nobody serves but the test.
struct unserved_device {
  static constexpr std::size_t heap_words = 64;
  static constexpr std::uint32_t ring_count = 4;

  explicit unserved_device(quarry::emu::agent_core& agent, std::uint32_t ring_entries = 2)
      : network(quarry::net::shmem::node::start(
                    agent, std::move(quarry::net::make_in_process(1)[0]),
                    {.heap_bytes = heap_words * 8, .most_teams = 1, .team_bytes = 256})
                    .value()),
        words(network.malloc<std::uint64_t>(heap_words).value()),
        queues(agent.known(), ring_count, ring_entries),
        states(agent.known(), ring_count, "states"), failed(agent.known(), 1, "failed"),
        contexts(ring_count, [] {}), waits(ring_count), net({.queues = &queues,
                                                             .states = states.global(),
                                                             .failed = failed.global(),
                                                             .meetings = {},
                                                             .network = &network,
                                                             .contexts = &contexts,
                                                             .waits = waits}) {}

  quarry::net::shmem::node network;
  std::span<std::uint64_t> words; ///< the symmetric heap
  quarry::net::comp_net::rings queues;
  quarry::emu::buffer<quarry::net::comp_net::ring_state> states;
  quarry::emu::buffer<std::uint32_t> failed;
  quarry::net::comp_net::open_contexts contexts;
  std::vector<quarry::net::comp_net::wait_record> waits;
  quarry::net::comp_net::device net;
};

} // namespace comp_net_test

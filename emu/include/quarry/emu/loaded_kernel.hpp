// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/grid.hpp>
#include <quarry/emu/launch_state.hpp>
#include <quarry/emu/packet.hpp>
#include <quarry/emu/signal.hpp>
#include <quarry/task.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace quarry::emu {

class agent_core;
class wave_slot;

/// A dispatch packet for this grid, that names no kernel yet.
///
/// Errors   std::invalid_argument – both work_groups and work_items are given; in a dimension a
///          group of more than 65535 work-items, or a grid of more than 4294967295; what else is
///          wrong with the grid the command processor says
[[nodiscard]] dispatch_packet packet_of(launch_config const& config, packet_header header,
                                        std::string const& kernel);

/// A kernel with its arguments, for dispatch packets to name: what hosts, and kernels on the GPU,
/// put into user-mode queues. Made by agent::load().
///
/// Lives until the packets that name it have been taken: the command processor refuses those of a
/// kernel that has gone, or is another agent's. What has started keeps its arguments.
class loaded_kernel {
public:
  loaded_kernel(agent_core& agent, kernel_code code);
  loaded_kernel(loaded_kernel const&) = delete;
  loaded_kernel& operator=(loaded_kernel const&) = delete;
  ~loaded_kernel();

  /// Its number, of those that the agent has loaded: no other one ever has it.
  [[nodiscard]] std::uint64_t kernel_object() const noexcept { return object_; }
  [[nodiscard]] std::uint64_t kernarg_address() const noexcept;

  /// A packet that runs it. Errors   as packet_of(), or std::invalid_argument – it is cooperative,
  /// which no packet can say
  [[nodiscard]] dispatch_packet packet(launch_config const& config, packet_header header) const;
  /// The same with a signal, which is counted down when the kernel has ended.
  [[nodiscard]] dispatch_packet packet(launch_config const& config, packet_header header,
                                       signal& completion) const {
    dispatch_packet p = packet(config, header);
    p.completion_signal = completion.handle();
    return p;
  }

private:
  agent_core& agent_;
  lifetime::observer agent_lives_; ///< it may go first
  kernel_code code_;
  std::uint64_t object_;
};

} // namespace quarry::emu

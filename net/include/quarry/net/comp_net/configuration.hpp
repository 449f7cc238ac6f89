// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/scope.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace quarry::net::comp_net {

/// Where the network service runs.
enum class service_place : std::uint8_t {
  none,              ///< kernels end, and the host communicates
  host_thread,       ///< beside the GPU's host program
  command_processor, ///< on the GPU, behind its L2
};

/// How a node's program reaches the network: what ComP-Net's evaluation compares.
///
/// Source   ComP-Net §5.1
struct configuration {
  std::string_view name;
  service_place place;
  emu::scope ring_scope; ///< where a work-group and the service meet
  bool uses_gpu;
  /// Kernels have operations of their own.
  [[nodiscard]] constexpr bool has_device_calls() const noexcept {
    return place != service_place::none;
  }
};

/// The paper's proposal: the service on the command processor, rings in the L2.
inline constexpr configuration on_command_processor{"comp_net", service_place::command_processor,
                                                    emu::scope::agent, true};
/// A host thread on the same die: rings in memory that host and GPU share coherently.
inline constexpr configuration apu{"apu", service_place::host_thread, emu::scope::system, true};
/// A host thread on the other side of PCIe. What a transfer costs is for virtual time to say: until
/// that is kept, it is the same as apu, natively and in explored schedules.
inline constexpr configuration dgpu{"dgpu", service_place::host_thread, emu::scope::system, true};
/// No device calls: kernels end, and the host exchanges between them.
inline constexpr configuration inter_kernel{"inter_kernel", service_place::none, emu::scope::system,
                                            true};
/// No GPU: plain threads, and shmem.
inline constexpr configuration cpu{"cpu", service_place::none, emu::scope::system, false};

/// All of them, as the paper lists them.
inline constexpr std::array configurations{&cpu, &inter_kernel, &apu, &dgpu, &on_command_processor};

/// Errors   std::invalid_argument – none has that name; those that there are
[[nodiscard]] configuration const& find_configuration(std::string_view name);

} // namespace quarry::net::comp_net

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/scope.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <string_view>

namespace quarry::net::comp_net {

/// Where the network service runs.
enum class service_place : std::uint8_t {
  none,              ///< kernels end, and the host communicates
  host_thread,       ///< beside the GPU's host program
  command_processor, ///< on the GPU, behind its L2
};

/// How a node's program reaches the network: what ComP-Net's evaluation compares. Models:
/// on_command_processor, apu, dgpu, inter_kernel, cpu.
///
/// `ring_scope`: where a work-group and the service meet; `is_coherent`: the host's caches see the
/// GPU's writes without a transfer. It is for schedulers with latencies: nothing reads it yet, so
/// that apu and dgpu are the same, natively and in explored schedules, until virtual time is kept.
///
/// Source   ComP-Net §5.1
template<class C>
concept configuration = requires {
  { C::name } -> std::convertible_to<std::string_view>;
  { C::place } -> std::convertible_to<service_place>;
  { C::ring_scope } -> std::convertible_to<emu::scope>;
  { C::is_coherent } -> std::convertible_to<bool>;
  { C::uses_gpu } -> std::convertible_to<bool>;
};

/// The paper's proposal: the service on the command processor, rings in the L2.
struct on_command_processor {
  static constexpr std::string_view name = "comp_net";
  static constexpr service_place place = service_place::command_processor;
  static constexpr emu::scope ring_scope = emu::scope::agent;
  static constexpr bool is_coherent = true;
  static constexpr bool uses_gpu = true;
};
/// A host thread on the same die: rings in memory that host and GPU share coherently.
struct apu {
  static constexpr std::string_view name = "apu";
  static constexpr service_place place = service_place::host_thread;
  static constexpr emu::scope ring_scope = emu::scope::system;
  static constexpr bool is_coherent = true;
  static constexpr bool uses_gpu = true;
};
/// A host thread on the other side of PCIe. What a transfer costs is for virtual time to say.
struct dgpu {
  static constexpr std::string_view name = "dgpu";
  static constexpr service_place place = service_place::host_thread;
  static constexpr emu::scope ring_scope = emu::scope::system;
  static constexpr bool is_coherent = false;
  static constexpr bool uses_gpu = true;
};
/// No device calls: kernels end, and the host exchanges between them.
struct inter_kernel {
  static constexpr std::string_view name = "inter_kernel";
  static constexpr service_place place = service_place::none;
  static constexpr emu::scope ring_scope = emu::scope::system;
  static constexpr bool is_coherent = false;
  static constexpr bool uses_gpu = true;
};
/// No GPU: plain threads, and shmem.
struct cpu {
  static constexpr std::string_view name = "cpu";
  static constexpr service_place place = service_place::none;
  static constexpr emu::scope ring_scope = emu::scope::system;
  static constexpr bool is_coherent = true;
  static constexpr bool uses_gpu = false;
};

static_assert(configuration<on_command_processor> && configuration<apu> && configuration<dgpu>);
static_assert(configuration<inter_kernel> && configuration<cpu>);

/// A configuration at run time.
struct configuration_choice {
  std::string_view name;
  service_place place;
  emu::scope ring_scope;
  bool is_coherent;
  bool uses_gpu;
  /// Kernels have operations of their own.
  [[nodiscard]] constexpr bool has_device_calls() const noexcept {
    return place != service_place::none;
  }
};
template<configuration C>
inline constexpr configuration_choice choice_of{C::name, C::place, C::ring_scope, C::is_coherent,
                                                C::uses_gpu};

/// All of them, as the paper lists them.
inline constexpr std::array<configuration_choice, 5> configurations{
    choice_of<cpu>, choice_of<inter_kernel>, choice_of<apu>, choice_of<dgpu>,
    choice_of<on_command_processor>};

/// Errors   std::invalid_argument – none has that name; those that there are
[[nodiscard]] configuration_choice const& find_configuration(std::string_view name);

} // namespace quarry::net::comp_net

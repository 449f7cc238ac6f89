// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/scope.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace quarry::emu {

/// What a packet asks the command processor for.
///
/// Source   HSA PRM 1.2 §2.9 (AQL); its agent dispatch packet is our service packet
enum class packet_type : std::uint8_t {
  invalid = 1, ///< nothing yet
  kernel_dispatch = 2,
  barrier_and = 3, ///< until all of its signals are 0
  service = 4,     ///< a function of the command processor
  barrier_or = 5,  ///< until one of its signals is 0
};

/// How far a packet's fence reaches. A packet starts with an acquire fence and ends with a release
/// fence; without one a kernel may find stale values, and leave its own where nobody sees them.
enum class fence_scope : std::uint8_t { none, agent, system };

/// Not of `none`.
[[nodiscard]] constexpr scope scope_of(fence_scope f) noexcept {
  return f == fence_scope::agent ? scope::agent : scope::system;
}

/// The first 16 bits of every packet.
///
/// Source   HSA PRM 1.2 §2.9.1: bits 0–7 type, 8 barrier, 9–10 acquire, 11–12 release
struct packet_header {
  packet_type type = packet_type::invalid;
  bool barrier = false; ///< waits until every packet before it in its queue has completed
  fence_scope acquire = fence_scope::system;
  fence_scope release = fence_scope::system;

  [[nodiscard]] constexpr std::uint16_t bits() const noexcept {
    return static_cast<std::uint16_t>(static_cast<unsigned>(type) | (barrier ? 1U << 8 : 0U) |
                                      static_cast<unsigned>(acquire) << 9 |
                                      static_cast<unsigned>(release) << 11);
  }
  [[nodiscard]] static constexpr packet_header of(std::uint16_t bits) noexcept {
    return {static_cast<packet_type>(bits & 0xffU), (bits >> 8 & 1U) != 0,
            static_cast<fence_scope>(bits >> 9 & 3U), static_cast<fence_scope>(bits >> 11 & 3U)};
  }
};

/// Runs a kernel. `kernel_object` and `kernarg_address` are a loaded_kernel's.
struct dispatch_packet {
  std::uint16_t header = packet_header{packet_type::kernel_dispatch}.bits();
  std::uint16_t setup = 3; ///< dimensions, 1 to 3; those beyond have size 1
  std::array<std::uint16_t, 3> work_group_size{1, 1, 1};
  std::uint16_t reserved0 = 0;
  std::array<std::uint32_t, 3> grid_size{1, 1, 1}; ///< in work-items
  std::uint32_t private_segment_bytes = 0;
  std::uint32_t group_segment_bytes = 0; ///< LDS
  std::uint64_t kernel_object = 0;
  std::uint64_t kernarg_address = 0;
  std::uint64_t reserved2 = 0;
  std::uint64_t completion_signal = 0; ///< its word's address; 0: none. Counted down at the end
};

/// Waits for signals; no packet of the queue behind it is looked at before.
struct barrier_packet {
  std::uint16_t header = packet_header{packet_type::barrier_and}.bits();
  std::uint16_t reserved0 = 0;
  std::uint32_t reserved1 = 0;
  std::array<std::uint64_t, 5> dep_signal{}; ///< addresses of their words; 0: none
  std::uint64_t reserved2 = 0;
  std::uint64_t completion_signal = 0;
};

/// Calls function `function` of the command processor with `arguments`.
struct service_packet {
  std::uint16_t header = packet_header{packet_type::service}.bits();
  std::uint16_t function = 0;
  std::uint32_t reserved0 = 0;
  std::uint64_t return_address = 0; ///< of 8 bytes for the result; 0: nobody wants it
  std::array<std::uint64_t, 4> arguments{};
  std::uint64_t reserved2 = 0;
  std::uint64_t completion_signal = 0;
};

/// 64 bytes of a user_queue, whatever they mean.
struct packet {
  std::array<std::uint64_t, 8> words{packet_header{}.bits()};

  packet() = default;
  template<class P>
    requires std::same_as<P, dispatch_packet> || std::same_as<P, barrier_packet> ||
             std::same_as<P, service_packet>
  constexpr packet(P const& p) noexcept // NOLINT(*-explicit-*)
      : words(std::bit_cast<decltype(words)>(p)) {}

  [[nodiscard]] constexpr packet_header header() const noexcept {
    return packet_header::of(static_cast<std::uint16_t>(words[0]));
  }
  template<class P>
  [[nodiscard]] constexpr P as() const noexcept {
    return std::bit_cast<P>(words);
  }
};
static_assert(sizeof(packet) == 64 && std::is_trivially_copyable_v<packet>);

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

namespace quarry::net::comp_net {

/// What a work-group asks of the network service.
enum class operation : std::uint8_t {
  put,
  get,
  put_signal,
  atomic,
  quiet,
  fence,
};
[[nodiscard]] constexpr char const* to_string(operation o) noexcept {
  constexpr char const* names[] = {"put", "get", "put_signal", "atomic", "quiet", "fence"};
  return names[static_cast<int>(o)];
}

/// As a command has it: there are at most max_pe_count.
[[nodiscard]] constexpr std::uint16_t pe_number(std::uint32_t pe) noexcept {
  return static_cast<std::uint16_t>(pe);
}

/// A network operation as it stands in a ring: operation type, destination, length, and so on.
///
/// Source   ComP-Net §4.2.1 ②
struct command {
  std::uint64_t target = 0; ///< offset of the remote object in the symmetric heap
  /// Where the data are, in device memory: put's source, get's destination; or, if is_inline, the
  /// data themselves.
  std::uint64_t local = 0;
  std::uint64_t bytes = 0;
  std::uint64_t operand = 0; ///< of an atomic operation, or a signal's
  std::uint64_t extra = 0;   ///< what compare_swap expects; a signal's offset
  std::uint16_t pe = 0;
  std::uint16_t site = 0; ///< whose call_site() it is, in an explored job; 0: it is unknown
  operation what = operation::put;
  std::uint8_t kind = 0;  ///< which shmem::atomic_op or shmem::signal_op
  std::uint8_t width = 0; ///< bytes of an atomic word
  std::uint8_t flags = 0;

  static constexpr std::uint8_t is_blocking = 1; ///< the work-group waits for the status
  static constexpr std::uint8_t is_inline = 2;   ///< `local` holds up to 8 bytes of payload
  [[nodiscard]] constexpr bool has(std::uint8_t flag) const noexcept { return (flags & flag) != 0; }

  static constexpr std::uint64_t most_inline_bytes = 8;
};
static_assert(sizeof(command) == 48 && std::is_trivially_copyable_v<command>);

} // namespace quarry::net::comp_net

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/fnv_hash.hpp>
#include <quarry/net/job.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

// What goes over a loopback connection, in the machine's byte order: both ends are one machine.

namespace quarry::net::wire {

inline constexpr std::uint32_t magic = 0x59525251; ///< "QRRY"
inline constexpr std::uint32_t version = 4;

/// Instead of the pe, in the answer to a greeting that is refused. The answer has the token only if
/// that greeting had it.
inline constexpr std::uint32_t refused_token =
    0xffffffff;                                         ///< or the version: see greeting::version
inline constexpr std::uint32_t refused_pe = 0xfffffffe; ///< the pe, or the number of them
inline constexpr std::uint32_t refused_terms = 0xfffffffd;

/// The first thing in each direction of a connection.
struct greeting {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t token_high;
  std::uint64_t token_low;
  std::uint32_t pe;
  std::uint32_t pe_count;
  std::uint64_t terms; ///< hash_of(job::terms); 0: none
};
static_assert(sizeof(greeting) == 40);

[[nodiscard]] constexpr std::uint64_t hash_of(std::string_view terms) noexcept {
  return terms.empty() ? 0 : fnv_hash(terms);
}

enum class frame_kind : std::uint32_t {
  message = 1,
  goodbye,
  lost, ///< the sender goes, because of the pe that is its payload, a 64-bit number
};

/// Before each payload, which is padded to a multiple of 8 bytes so that the next one is aligned.
struct frame_header {
  frame_kind kind;
  std::uint32_t length;   ///< of the payload, without the padding
  std::uint32_t sequence; ///< counts the frames of one direction
  std::uint32_t check;    ///< see check_of(): a frame that is none is noticed at once
};
static_assert(sizeof(frame_header) == 16);

[[nodiscard]] constexpr std::uint32_t check_of(frame_header const& h) noexcept {
  return (static_cast<std::uint32_t>(h.kind) * 0x9e3779b1U) ^ (h.length * 0x85ebca6bU) ^
         (h.sequence * 0xc2b2ae35U) ^ magic;
}
[[nodiscard]] constexpr std::size_t padded(std::size_t bytes) noexcept {
  return (bytes + 7) / 8 * 8;
}

} // namespace quarry::net::wire

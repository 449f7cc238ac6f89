// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/shmem/vocabulary.hpp>

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace quarry::net::shmem {

// Why an operation that somebody asks for cannot be, on hosts and in kernels.

/// Of one that combines<T>() says no of.
[[nodiscard]] inline std::string why_not(reduction how) {
  return combines<int>(how)
             ? "reduce: bit_and, bit_or and bit_xor are for integers only"
             : fmt::format("reduce: there is no reduction {}", static_cast<int>(how));
}
/// Of one that does not exist; `name`: of the call.
[[nodiscard]] inline std::string why_not(signal_op how, char const* name) {
  return fmt::format("{}: a signal is set or added to; there is no operation {}", name,
                     static_cast<int>(how));
}
/// The same.
[[nodiscard]] inline std::string why_not(comparison how, char const* name) {
  return fmt::format("{}: a word is compared by ==, !=, >, >=, < or <=; there is no comparison {}",
                     name, static_cast<int>(how));
}

/// Do so many bytes at two places overlap?
[[nodiscard]] constexpr bool overlap(std::uint64_t a, std::uint64_t b, std::size_t bytes) noexcept {
  return (a < b ? b - a : a - b) < bytes;
}
/// Does a member's `source`, of so many bytes, overlap the `total` ones that all members have from
/// `dest` on? It may be where those of it are: at `mine`.
[[nodiscard]] constexpr bool overlaps_collected(std::uint64_t source, std::uint64_t bytes,
                                                std::uint64_t dest, std::uint64_t total,
                                                std::uint64_t mine) noexcept {
  return bytes != 0 && source != mine && source < dest + total && dest < source + bytes;
}
/// Of those.
inline constexpr char const* collected_overlap =
    "they must be apart, or source its own place in dest";
/// Of a reduction from one to the other of them.
inline constexpr char const* reduced_overlap =
    "reduce: dest and source overlap; allowed are the same place, or two apart";

} // namespace quarry::net::shmem

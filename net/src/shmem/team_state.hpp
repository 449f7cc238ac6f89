// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/net/pe.hpp>
#include <quarry/net/shmem/node.hpp>

#include <cstdint>
#include <string_view>

namespace quarry::net::shmem {

/// A team, as one of its members knows it.
struct team_state {
  std::uint32_t id = 0; ///< the same at all members: says where the team's memory is
  std::uint32_t start = 0;
  std::uint32_t stride = 1;
  std::uint32_t count = 1;
  std::uint32_t index = 0;
  std::uint64_t meetings = 0; ///< so far
  std::uint64_t arrivals = 0; ///< that were waited for so far
  std::uint64_t credits = 0;  ///< the same
  bool is_destroyed = false;  ///< copies of the team know it, too
  bool is_at_work = false;    ///< a thread is in a collective; read and written atomically

  [[nodiscard]] pe at(std::uint32_t i) const noexcept { return pe{start + i * stride}; }
};

/// Where a team's memory is in the region, behind what malloc() gives: words for each round of a
/// meeting, twice, since a member may be at the next one; two counters; room for messages; and, for
/// the same reason twice, room for what members gather while they meet.
struct team_area {
  static constexpr std::uint64_t rounds = 16;
  static constexpr std::uint64_t header_bytes = 2 * rounds * 8 + 2 * 64;
  static constexpr std::uint64_t gathered_bytes = 2048;
  std::uint64_t begin;

  [[nodiscard]] static std::uint64_t message_bytes(node::options const& o) noexcept {
    return (o.team_bytes + 63) / 64 * 64;
  }
  [[nodiscard]] static std::uint64_t bytes(node::options const& o) noexcept {
    return header_bytes + message_bytes(o) + 2 * gathered_bytes;
  }
  [[nodiscard]] std::uint64_t meeting(std::uint64_t number, std::uint64_t round) const noexcept {
    return begin + (number % 2 * rounds + round) * 8;
  }
  [[nodiscard]] std::uint64_t arrivals() const noexcept { return begin + 2 * rounds * 8; }
  [[nodiscard]] std::uint64_t credits() const noexcept { return arrivals() + 64; }
  [[nodiscard]] std::uint64_t messages() const noexcept { return begin + header_bytes; }
  [[nodiscard]] std::uint64_t gathered(node::options const& o,
                                       std::uint64_t meeting) const noexcept {
    return messages() + message_bytes(o) + meeting % 2 * gathered_bytes;
  }
};

[[nodiscard]] inline std::size_t internal_bytes(node::options const& o) noexcept {
  return o.most_teams * team_area::bytes(o);
}

/// The options on which pes must agree, but for the heap's size; it goes with the greeting.
[[nodiscard]] inline std::uint64_t shape_of(node::options const& o) noexcept {
  return (std::uint64_t{o.most_teams} << 40 | o.team_bytes) ^ o.mark * 0x9e3779b97f4a7c15;
}

/// What members do together: compared when they meet.
enum class collective : std::uint8_t {
  sync = 1,
  barrier,
  malloc,
  free,
  split,
  destroy,
  broadcast,
  fcollect,
  alltoall,
  reduce,
  finish,
  calloc,
  align,
  collect,
};
[[nodiscard]] constexpr std::string_view to_string(collective c) noexcept {
  constexpr std::string_view names[] = {"nothing",  "sync",          "barrier", "malloc",
                                        "free",     "split_strided", "destroy", "broadcast",
                                        "fcollect", "alltoall",      "reduce",  "finish",
                                        "calloc",   "align",         "collect"};
  auto const i = static_cast<std::size_t>(c);
  return i < std::size(names) ? names[i] : "something unknown";
}

} // namespace quarry::net::shmem

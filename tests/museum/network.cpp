// SPDX-License-Identifier: Apache-2.0
// What relies on the order of a network that keeps none: between two pes of net::shmem, whose
// operations come in any order that fences leave.
#include "exhibit.hpp"
#include "two_pes.hpp"

#include <quarry/net/shmem.hpp>

#include <span>

using namespace quarry_test;
using namespace quarry::net;
using shmem::comparison;
using shmem::node;

namespace {

case_world two_alike(pe_body const& body) {
  return two_pes(body, body);
}
std::uint64_t* word(node& n, std::uint64_t i) {
  return reinterpret_cast<std::uint64_t*>(n.local({8 * i}));
}
void wait_for(world& w, node& n, std::uint64_t* at, std::uint64_t least) {
  w.check(n.wait_until(at, comparison::greater_equal, least).has_value(), "nobody ends a wait");
}

enum class arrival : std::uint8_t { set, fence_and_set, add };

/// NVSHMEM: in round k of a dissemination barrier a PE tells the one 2^k away that it has come. Of
/// two messages for one word, the late one of the barrier before may come last. Two pes and one
/// round show what four show, more quickly.
/// Source   NVIDIA/nvshmem PR#36
case_world meet_twice(arrival how) {
  return two_alike([how](world& w, world_core&, node& n) {
    constexpr std::uint64_t barriers = 2;
    auto& c = n.default_context();
    auto* const flag = word(n, 0);
    pe const other{1 - n.self().id};
    for (std::uint64_t barrier = 1; barrier <= barriers; ++barrier) {
      if (how == arrival::fence_and_set)
        c.fence();
      auto const told =
          how == arrival::add ? c.atomic_inc(flag, other) : c.atomic_set(flag, barrier, other);
      w.check(told.has_value(), "a pe cannot tell that it has come");
      wait_for(w, n, flag, barrier);
    }
  });
}

/// NVSHMEM's ring reduce: each chunk is put with SIGNAL_ADD, and the next PE waits for k arrivals
/// before it reduces chunk k. Two chunks of one link.
/// Source   NVIDIA/nvshmem#84
case_world ring_reduce(bool signal_per_chunk) {
  return two_alike([signal_per_chunk](world& w, world_core& self, node& n) {
    constexpr std::uint64_t chunks = 2, first_value = 10;
    auto const signal = [&](std::uint64_t k) {
      return word(n, chunks + (signal_per_chunk ? k : 0));
    };
    for (std::uint64_t k = 0; k < chunks; ++k) {
      std::uint64_t const value = first_value + k;
      if (n.self() == pe{0}) {
        auto const sent = n.default_context().put_signal(
            word(n, k), std::span(&value, 1), signal(k), 1, shmem::signal_op::add, pe{1});
        w.check(sent.has_value(), "put_signal");
      } else {
        wait_for(w, n, signal(k), signal_per_chunk ? 1 : k + 1);
        w.check(self.load(quarry::emu::global<std::uint64_t>(word(n, k))) == value,
                "a chunk is reduced before it has come");
      }
    }
  });
}

} // namespace

namespace quarry_test {

std::vector<exhibit> network_exhibits() {
  return {{"36",
           "NVSHMEM, dissemination barrier by SET",
           "PR#36",
           {wrong("SET", {"check"}, "check", meet_twice(arrival::set)),
            right("fence, then SET", meet_twice(arrival::fence_and_set)),
            right("ADD", meet_twice(arrival::add))}},
          {"37",
           "NVSHMEM, ring reduce by SIGNAL_ADD",
           "#84",
           {wrong("one signal for all chunks", {"check", "race"}, "check", ring_reduce(false)),
            right("a signal per chunk", ring_reduce(true))}}};
}

} // namespace quarry_test

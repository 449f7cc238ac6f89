// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/queue_orders.hpp>

namespace quarry::net::shmem {

/// Orders and scopes of the accesses to symmetric heaps: who applies an operation, and who waits.
/// Puts and gets of more than one word are plain accesses.
///
/// Source   OpenSHMEM 1.5 §9.7, §9.10, §9.11 (atomics, point-to-point, memory ordering)
struct shmem_orders {
  /// An aligned put of 1, 2, 4 or 8 bytes; a signal that is set; an atomic set; a barrier's flag.
  /// Release: what the origin has put before its fence is visible to who sees the word.
  emu::access apply_word{emu::order::release, emu::scope::system};
  /// An atomic that changes what is there. Both: it hands on what others released to the word.
  emu::access apply_update{emu::order::acq_rel, emu::scope::system};
  /// An atomic fetch; an aligned get of 1, 2, 4 or 8 bytes. Acquire: pairs with the two above.
  emu::access fetch_word{emu::order::acquire, emu::scope::system};
  /// wait_until, test, signal_fetch and what waits in barriers. Acquire: pairs with apply_….
  emu::access wait{emu::order::acquire, emu::scope::system};

  static constexpr emu::named_access<shmem_orders> entries[] = {
      {"apply_word", &shmem_orders::apply_word},
      {"apply_update", &shmem_orders::apply_update},
      {"fetch_word", &shmem_orders::fetch_word},
      {"wait", &shmem_orders::wait},
  };
};

} // namespace quarry::net::shmem

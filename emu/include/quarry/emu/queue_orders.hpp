// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/scope.hpp>

namespace quarry::emu {

/// The order and scope of one operation of a queue: an entry of the queue's table. A test can
/// weaken one entry at a time (design §4): an entry whose weakening nobody notices is a hole, or
/// redundant.
struct access {
  order how;
  scope far;
  friend constexpr bool operator==(access, access) = default;
};

/// An entry with the name under which it can be weakened. `Table` is spsc_orders, mpmc_orders, ….
template<class Table>
struct named_access {
  char const* name;
  access Table::* entry;
};

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/queue_orders.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace quarry::exploration {

/// One entry of an order table, one step weaker than it is.
struct weakening {
  std::string entry;
  emu::access from;
  emu::access to;
  /// Another one of the same table, at the same time: where two orders do the same work, only both
  /// can be missed. Borrowed.
  weakening const* also = nullptr;
  /// "publish_write_index=relaxed", "publish_write_index=agent+set_full=agent"
  [[nodiscard]] std::string name() const;
};

/// What an access may be weakened to, one step at a time: first its order, then its scope.
[[nodiscard]] std::vector<emu::access> weaker(emu::access a);

/// Every weakening of every entry of a table.
template<class Table>
[[nodiscard]] std::vector<weakening> weakenings_of() {
  std::vector<weakening> all;
  Table const table{};
  for (auto const& e : Table::entries)
    for (emu::access const to : weaker(table.*e.entry))
      all.push_back({.entry = e.name, .from = table.*e.entry, .to = to});
  return all;
}

/// The table with one entry changed, or several; as it is if `w` is null.
///
/// Errors   std::invalid_argument – the table has no such entry
template<class Table>
[[nodiscard]] Table weakened(weakening const* w) {
  Table table{};
  for (; w != nullptr; w = w->also) {
    bool is_there = false;
    for (auto const& e : Table::entries)
      if (w->entry == e.name) {
        table.*e.entry = w->to;
        is_there = true;
      }
    if (!is_there)
      throw std::invalid_argument("no entry " + w->entry);
  }
  return table;
}

} // namespace quarry::exploration

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
  /// "publish_write_index=relaxed", "publish_write_index=agent"
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
      all.push_back({e.name, table.*e.entry, to});
  return all;
}

/// The table with one entry changed; as it is if `w` is null.
///
/// Errors   std::invalid_argument – the table has no such entry
template<class Table>
[[nodiscard]] Table weakened(weakening const* w) {
  Table table{};
  if (w == nullptr)
    return table;
  for (auto const& e : Table::entries)
    if (w->entry == e.name) {
      table.*e.entry = w->to;
      return table;
    }
  throw std::invalid_argument("no entry " + w->entry);
}

} // namespace quarry::exploration

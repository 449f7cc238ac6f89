// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/queue_orders.hpp>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
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

/// Those of entries that `names` lists.
[[nodiscard]] std::vector<weakening> of_entries(std::vector<weakening> all,
                                                std::initializer_list<std::string_view> names);

/// The table with one entry changed, or several, those that it has; as it is if `w` is null. For
/// worlds with several tables.
template<class Table>
[[nodiscard]] Table weakened_partly(weakening const* w) {
  Table table{};
  for (; w != nullptr; w = w->also)
    for (auto const& e : Table::entries)
      if (w->entry == e.name)
        table.*e.entry = w->to;
  return table;
}

/// The same, where all of them must be there.
///
/// Errors   std::invalid_argument – the table has no such entry
template<class Table>
[[nodiscard]] Table weakened(weakening const* w) {
  for (auto const* one = w; one != nullptr; one = one->also)
    if (std::none_of(std::begin(Table::entries), std::end(Table::entries),
                     [&](auto const& e) { return one->entry == e.name; }))
      throw std::invalid_argument("no entry " + one->entry);
  return weakened_partly<Table>(w);
}

} // namespace quarry::exploration

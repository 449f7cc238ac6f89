// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/core.hpp>
#include <quarry/emu/queue_orders.hpp>

#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

namespace quarry_test {

struct noted {
  std::string operation;
  quarry::emu::access by;
};
using notes = std::vector<noted>;

/// Any actor, and what order and scope its operations were given.
template<class Actor>
class noting : public Actor {
public:
  template<class Source>
  noting(notes& into, Source&& source) : Actor(source), notes_(into) {}

  template<class T>
  T load(quarry::emu::global<T> at) const {
    return Actor::load(at);
  }
  template<class T>
  void store(quarry::emu::global<T> at, std::type_identity_t<T> value) const {
    Actor::store(at, value);
  }
  template<class T>
  T load(quarry::emu::global<T> at, quarry::emu::access a) const {
    notes_.push_back({"load", a});
    return Actor::load(at, a);
  }
  template<class T>
  void store(quarry::emu::global<T> at, std::type_identity_t<T> value,
             quarry::emu::access a) const {
    notes_.push_back({"store", a});
    Actor::store(at, value, a);
  }
  template<class T>
  T fetch_add(quarry::emu::global<T> at, std::type_identity_t<T> n, quarry::emu::access a) const {
    notes_.push_back({"fetch_add", a});
    return Actor::fetch_add(at, n, a);
  }
  template<class T>
  T fetch_sub(quarry::emu::global<T> at, std::type_identity_t<T> n, quarry::emu::order o,
              quarry::emu::scope s) const {
    return Actor::fetch_sub(at, n, o, s); // of no table
  }
  template<class T>
  T fetch_sub(quarry::emu::global<T> at, std::type_identity_t<T> n, quarry::emu::access a) const {
    notes_.push_back({"fetch_sub", a});
    return Actor::fetch_sub(at, n, a);
  }
  template<class T>
  bool compare_exchange(quarry::emu::global<T> at, std::type_identity_t<T>& expected,
                        std::type_identity_t<T> desired, quarry::emu::access a) const {
    notes_.push_back({"compare_exchange", a});
    return Actor::compare_exchange(at, expected, desired, a);
  }
  template<class T, class Predicate>
  auto wait_until(quarry::emu::global<T> at, Predicate is_met, quarry::emu::access a) const {
    notes_.push_back({"wait_until", a});
    return Actor::wait_until(at, is_met, a);
  }

private:
  notes& notes_;
};
using noting_core = noting<quarry::emu::basic_core<quarry::emu::native_memory>>;

template<class Table>
constexpr bool lists_every_entry() {
  return std::size(Table::entries) * sizeof(quarry::emu::access) == sizeof(Table);
}

/// A table in which no two entries are equal: an access tells which entry it came from.
template<class Table>
Table all_different() {
  static_assert(std::size(Table::entries) <= 25);
  Table t;
  int n = 0;
  for (auto const& e : Table::entries) {
    t.*e.entry = {static_cast<quarry::emu::order>(n % 5), static_cast<quarry::emu::scope>(n / 5)};
    ++n;
  }
  return t;
}

template<class Table>
std::string entry_of(quarry::emu::access a) {
  auto const t = all_different<Table>();
  for (auto const& e : Table::entries)
    if (t.*e.entry == a)
      return e.name;
  return "no entry";
}

/// "fetch_add write_index", …
template<class Table>
std::vector<std::string> named(notes const& list) {
  std::vector<std::string> lines;
  for (noted const& n : list)
    lines.push_back(n.operation + " " + entry_of<Table>(n.by));
  return lines;
}
using lines = std::vector<std::string>;

} // namespace quarry_test

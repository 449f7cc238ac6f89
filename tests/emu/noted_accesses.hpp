// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/core.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/queue_orders.hpp>

#include <iterator>
#include <source_location>
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
  using access = quarry::emu::access;
  using site = std::source_location;
  template<class T>
  using global = quarry::emu::global<T>;

public:
  template<class Source>
  noting(notes& into, Source&& source) : Actor(source), notes_(into) {}

  template<class T>
  std::remove_const_t<T> load(global<T> at, site where = site::current()) const {
    return Actor::load(at, where);
  }
  template<class T>
  void store(global<T> at, std::type_identity_t<T> value, site where = site::current()) const {
    Actor::store(at, value, where);
  }
  /// Of a wavefront's lanes.
  template<class T, class Index, class Values>
  void store(quarry::emu::lane_address<T, Index> at, Values const& values,
             site where = site::current()) const {
    Actor::store(at, values, where);
  }
  template<class T>
  std::remove_const_t<T> load(global<T> at, access a, site where = site::current()) const {
    notes_.push_back({"load", a});
    return Actor::load(at, a, where);
  }
  template<class T>
  std::remove_const_t<T> load(global<T> at, quarry::emu::order o, quarry::emu::scope s,
                              site where = site::current()) const {
    return Actor::load(at, o, s, where); // of no table
  }
  template<class T>
  void store(global<T> at, std::type_identity_t<T> value, access a,
             site where = site::current()) const {
    notes_.push_back({"store", a});
    Actor::store(at, value, a, where);
  }
  template<class T>
  T fetch_add(global<T> at, std::type_identity_t<T> n, access a,
              site where = site::current()) const {
    notes_.push_back({"fetch_add", a});
    return Actor::fetch_add(at, n, a, where);
  }
  template<class T>
  T fetch_sub(global<T> at, std::type_identity_t<T> n, quarry::emu::order o,
              quarry::emu::scope s) const {
    return Actor::fetch_sub(at, n, o, s); // of no table
  }
  template<class T>
  T fetch_sub(global<T> at, std::type_identity_t<T> n, access a,
              site where = site::current()) const {
    notes_.push_back({"fetch_sub", a});
    return Actor::fetch_sub(at, n, a, where);
  }
  template<class T>
  T fetch_or(global<T> at, std::type_identity_t<T> n, access a,
             site where = site::current()) const {
    notes_.push_back({"fetch_or", a});
    return Actor::fetch_or(at, n, a, where);
  }
  template<class T>
  T exchange(global<T> at, std::type_identity_t<T> value, access a,
             site where = site::current()) const {
    notes_.push_back({"exchange", a});
    return Actor::exchange(at, value, a, where);
  }
  template<class T>
  bool compare_exchange(global<T> at, std::type_identity_t<T>& expected,
                        std::type_identity_t<T> desired, access a,
                        site where = site::current()) const {
    notes_.push_back({"compare_exchange", a});
    return Actor::compare_exchange(at, expected, desired, a, where);
  }
  template<class T, class Predicate>
  auto wait_until(global<T> at, Predicate is_met, access a, site where = site::current()) const {
    notes_.push_back({"wait_until", a});
    return Actor::wait_until(at, is_met, a, where);
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

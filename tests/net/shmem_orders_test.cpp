// SPDX-License-Identifier: Apache-2.0
// The table of accesses to symmetric heaps: which of them hands over what, between two pes.
#include "../emu/noted_accesses.hpp"
#include "two_pes.hpp"

#include <quarry/emu/explore.hpp>
#include <quarry/net/shmem.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry::net;
using namespace quarry_test;
using shmem::shmem_orders;

namespace {

std::uint64_t* word(shmem::node& n, std::uint64_t i) {
  return reinterpret_cast<std::uint64_t*>(n.local({8 * i}));
}
constexpr std::uint64_t data = 0, flag = 8, over = 16; // two data: they are put and got plainly
constexpr pe receiver{1};

enum class handover : std::uint8_t {
  put,        ///< of a word
  atomic_set, ///< which is not fetched
  signal_set, ///< with a put
  atomic_add,
  signal_add,   ///< with a put
  atomic_fetch, ///< of what the other pe's host has released
  get_word,     ///< the same
};

/// Puts the data and then what says that they are there.
void give(world& w, shmem::node& n, handover how) {
  auto& c = n.default_context();
  std::array<std::uint64_t, 2> const values{5, 6};
  if (how == handover::signal_set || how == handover::signal_add) {
    auto const op = how == handover::signal_set ? shmem::signal_op::set : shmem::signal_op::add;
    w.check(c.put_signal(word(n, data), values, word(n, flag), 1, op, receiver).has_value(),
            "put_signal");
    return;
  }
  w.check(c.put(word(n, data), values, receiver).has_value(), "put");
  c.fence();
  auto const told = how == handover::put          ? c.p(word(n, flag), 1, receiver)
                    : how == handover::atomic_set ? c.atomic_set(word(n, flag), 1, receiver)
                                                  : c.atomic_inc(word(n, flag), receiver);
  w.check(told.has_value(), "the flag");
}
void await_and_read(world& w, world_core& self, shmem::node& n) {
  w.check(n.wait_until(word(n, flag), shmem::comparison::equal, 1).has_value(), "wait_until");
  for (std::uint64_t i = 0; i < 2; ++i) {
    std::uint64_t const value = self.load(global<std::uint64_t>(word(n, data) + i));
    w.check(value == 5 + i, "the flag came before the data");
  }
}

/// Looks for the flag of the other pe's host, and gets what came before it.
void look_and_get(world& w, shmem::node& n, handover how) {
  auto& c = n.default_context();
  std::uint64_t there = 0;
  if (how == handover::atomic_fetch)
    there = c.atomic_fetch(word(n, flag), receiver).value();
  else
    w.check(c.get(std::span(&there, 1), word(n, flag), receiver).has_value(), "get");
  if (there != 0) {
    std::array<std::uint64_t, 2> values{};
    w.check(c.get(values, word(n, data), receiver).has_value(), "get");
    w.check(values[0] == 5 && values[1] == 6, "the flag came before the data");
  }
  w.check(c.p(word(n, over), 1, receiver).has_value(), "p");
}
/// Enters no call of shmem meanwhile: that would order more.
void release_flag(world_core& self, shmem::node& n) {
  for (std::uint64_t i = 0; i < 2; ++i)
    self.store(global<std::uint64_t>(word(n, data) + i), 5 + i);
  self.store(global<std::uint64_t>(word(n, flag)), 1, order::release, scope::system);
  auto wait = self.wait_until(
      global<std::uint64_t>(word(n, over)), [](std::uint64_t v) { return v == 1; }, order::relaxed,
      scope::system);
  static_cast<void>(wait.await_resume());
}

verdict explored(handover how, shmem_orders const& orders) {
  bool const is_got = how == handover::atomic_fetch || how == handover::get_word;
  auto const first = [=](world& w, world_core&, shmem::node& n) {
    is_got ? look_and_get(w, n, how) : give(w, n, how);
  };
  auto const second = [=](world& w, world_core& self, shmem::node& n) {
    is_got ? release_flag(self, n) : await_and_read(w, self, n);
  };
  return explore({.executions = 400, .shrinks = false, .diagnoses = false},
                 two_pes(first, second, orders));
}

/// The entries without whose order it fails.
std::set<std::string> needed(handover how) {
  std::set<std::string> all;
  for (auto const& e : shmem_orders::entries) {
    shmem_orders weak;
    (weak.*e.entry).how = order::relaxed;
    if (explored(how, weak).failure)
      all.insert(e.name);
  }
  return all;
}

using names = std::set<std::string>;

} // namespace

TEST_SUITE("net.shmem_orders") {
  TEST_CASE("the table lists every entry under a name of its own") {
    static_assert(lists_every_entry<shmem_orders>());
    names all;
    for (auto const& e : shmem_orders::entries)
      CHECK(all.insert(e.name).second);
  }

  TEST_CASE("everything reaches the system: who puts may be on any agent or host") {
    shmem_orders const o;
    for (auto const& e : shmem_orders::entries)
      CHECK((o.*e.entry).far == scope::system);
    CHECK(o.apply_word.how == order::release);
    CHECK(o.apply_update.how == order::acq_rel);
    CHECK(o.fetch_word.how == order::acquire);
    CHECK(o.wait.how == order::acquire);
  }

  TEST_CASE("explored: every flag hands over what came before it") {
    for (int how = 0; how <= static_cast<int>(handover::get_word); ++how) {
      CAPTURE(how);
      verdict const v = explored(static_cast<handover>(how), {});
      CHECK_MESSAGE(v, v.to_string());
      CHECK(v.inconclusive == 0);
    }
  }
  TEST_CASE("explored: a word that is set needs its release, one that is changed its own") {
    for (handover const how : {handover::put, handover::atomic_set, handover::signal_set})
      CHECK(needed(how) == names{"apply_word", "wait"});
    for (handover const how : {handover::atomic_add, handover::signal_add})
      CHECK(needed(how) == names{"apply_update", "wait"});
  }
  TEST_CASE("explored: a word that is fetched, or got, needs the acquire") {
    for (handover const how : {handover::atomic_fetch, handover::get_word})
      CHECK(needed(how) == names{"fetch_word"});
  }
}

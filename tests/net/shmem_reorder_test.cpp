// SPDX-License-Identifier: Apache-2.0
// In which orders operations arrive where a schedule decides: in any that fences leave.
#include "two_pes.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/net.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>

using namespace quarry;
using namespace quarry::net;
using quarry_test::pe_body;
using shmem::comparison;
using shmem::node;

namespace {

verdict explore_two(explore_options o, pe_body const& first, pe_body const& second) {
  o.shrinks = o.diagnoses = false;
  return explore(o, quarry_test::two_pes(first, second));
}

std::uint64_t* words(node& n) {
  return reinterpret_cast<std::uint64_t*>(n.local({0}));
}

/// Puts 1 to so many words of pe 1. Before which there is a fence, `fences` says.
pe_body giver(std::size_t count, std::set<std::size_t> const& fences = {}) {
  return [=](world& w, world_core&, node& n) {
    for (std::size_t i = 0; i < count; ++i) {
      if (fences.contains(i))
        n.default_context().fence();
      w.check(n.default_context().p(words(n) + i, 1, pe{1}).has_value(), "p");
    }
  };
}

/// The orders in which pe 1 sees three puts of pe 0, by their numbers; without those where it has
/// seen several at once.
std::string orders(std::set<std::size_t> const& fences) {
  constexpr std::size_t puts = 3;
  std::set<std::string> all;
  auto const take = [&](world& w, world_core&, node& n) {
    std::array<bool, puts> has_come{};
    std::string seen;
    std::size_t looks = 0;
    for (; seen.size() < puts; ++looks) {
      auto const come = n.wait_until_some(std::span<std::uint64_t const>(words(n), puts),
                                          comparison::equal, 1, has_come);
      w.check(come.has_value(), "wait_until_some");
      if (!come)
        return;
      for (std::size_t const i : *come) {
        has_come[i] = true;
        seen += std::to_string(i);
      }
    }
    if (looks == puts)
      all.insert(seen);
  };
  verdict const v = explore_two({.executions = 2000}, giver(puts, fences), take);
  CHECK_MESSAGE(v, v.to_string());
  std::string text;
  for (std::string const& one : all)
    text += (text.empty() ? "" : " ") + one;
  return text;
}

/// Does the last of so many puts come before all others?
bool is_overtaking_found(std::size_t count, std::string const& strategy) {
  verdict const v = explore_two({.executions = 3000, .strategy = strategy}, giver(count),
                                [count](world& w, world_core& self, node& n) {
                                  auto const last =
                                      n.wait_until(words(n) + count - 1, comparison::equal, 1);
                                  w.check(last.has_value(), "wait_until");
                                  std::uint64_t come = 0;
                                  for (std::size_t i = 0; i + 1 < count; ++i)
                                    come += self.load(emu::global<std::uint64_t>(words(n) + i),
                                                      emu::order::relaxed, emu::scope::system);
                                  w.check(come != 0, "the last put came first");
                                });
  return v.failure && v.failure->report.find("the last put came first") != std::string::npos;
}

/// Pe 0 has put something to a block that both then give back, and pe 1 writes to what it gets
/// instead. `waits`: pe 0 puts through the default context, which free() waits for.
verdict free_amid_put(bool waits) {
  auto const block = [](world& w, node& n) {
    auto const given = n.malloc<std::uint64_t>(1);
    w.check(given.has_value(), "malloc");
    return given->data();
  };
  return explore_two(
      {.executions = 3000},
      [&](world& w, world_core&, node& n) {
        auto* const first = block(w, n);
        auto other = n.make_context();
        w.check(other.has_value(), "make_context");
        w.check((waits ? n.default_context() : *other).p(first, 1, pe{1}).has_value(), "p");
        w.check(n.free(first).has_value(), "free");
        block(w, n);
        w.check(n.barrier_all().has_value(), "barrier_all");
      },
      [&](world& w, world_core& self, node& n) {
        auto* const first = block(w, n);
        w.check(n.free(first).has_value(), "free");
        auto* const second = block(w, n);
        w.check(first == second, "another block");
        emu::global<std::uint64_t> const word(second);
        self.store(word, 7);
        w.check(n.barrier_all().has_value(), "barrier_all");
        w.check(self.load(word) == 7, "somebody has written here");
      });
}

} // namespace

TEST_SUITE("net.shmem_reorder") {
  TEST_CASE("three puts that no fence orders come in each of the six orders") {
    CHECK(orders({}) == "012 021 102 120 201 210");
  }

  TEST_CASE("a fence lets nothing pass, and what is on one side of it comes in any order") {
    CHECK(orders({1}) == "012 021");
    CHECK(orders({2}) == "012 102");
    CHECK(orders({1, 2}) == "012");
  }

  TEST_CASE("what comes to a block that is given back came before, of the default context") {
    CHECK_MESSAGE(free_amid_put(true), free_amid_put(true).to_string());
    CHECK_FALSE(free_amid_put(false));
  }

  TEST_CASE("the last of two, three or four puts comes before all others, by every strategy") {
    for (std::size_t count = 2; count <= 4; ++count)
      for (std::string const strategy : {"swarm", "random_walk", "pct"}) {
        CAPTURE(count);
        CAPTURE(strategy);
        CHECK(is_overtaking_found(count, strategy));
      }
  }
}

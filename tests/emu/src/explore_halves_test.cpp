// SPDX-License-Identifier: Apache-2.0
// Words that some access whole and some by their halves.
#include "../explored_outcomes.hpp"
#include "cache_machine.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using quarry_test::far;

namespace {

using whole = global<std::uint64_t>;
using half = global<std::uint32_t>;

half low_half_of(whole at) {
  return half(reinterpret_cast<std::uint32_t*>(at.get())); // NOLINT: its bytes
}
constexpr std::uint64_t both(std::uint64_t value) {
  return value << 32 | value;
}

/// How somebody looks at the lower half after his own store to the whole.
struct look {
  std::string name;
  std::function<std::uint32_t(world_core&, half)> at;
};
std::vector<look> const looks{
    {"relaxed", [](world_core& c, half h) { return c.load(h, order::relaxed, far); }},
    {"acquire", [](world_core& c, half h) { return c.load(h, order::acquire, far); }},
    {"plain", [](world_core& c, half h) { return c.load(h); }},
    {"update", [](world_core& c, half h) { return c.fetch_add(h, 0, order::relaxed, far); }}};

/// `threads` others store 1, 2, … to the whole; what who stores 9 sees of its half then.
std::set<std::uint32_t> seen(explore_options o, unsigned threads, order others, order own,
                             look const& l, verdict& came_to) {
  std::set<std::uint32_t> all;
  o.executions = 1'000'000;
  o.strategy = "exhaustive";
  o.detects_races = false;
  o.keeps_failures = false;
  came_to = explore(o, [&](world& w) {
    auto word = w.allocate<std::uint64_t>(1, "word");
    whole const at = word.global();
    for (unsigned i = 1; i <= threads; ++i)
      w.start("other", [=](world_core& self) { self.store(at, both(i), others, far); });
    std::uint32_t saw = 0;
    w.start("own", [&](world_core& self) {
      self.store(at, both(9), own, far);
      saw = l.at(self, low_half_of(at));
    });
    w.join();
    all.insert(saw);
  });
  return all;
}

} // namespace

TEST_SUITE("emu.explore_halves") {
  TEST_CASE("somebody else's store of the whole may lie between an own one and a look at a half") {
    for (look const& l : looks)
      for (order const others : {order::relaxed, order::release, order::seq_cst})
        for (order const own : {order::relaxed, order::release, order::seq_cst})
          for (explore_options const& how :
               {explore_options{}, {.reduces = true}, {.hashes_states = true}}) {
            CAPTURE(l.name);
            CAPTURE(others);
            CAPTURE(own);
            CAPTURE(how.reduces);
            CAPTURE(how.hashes_states);
            verdict v;
            CHECK(seen(how, 1, others, own, l, v) == std::set<std::uint32_t>{1, 9});
            CHECK(v.limited != 0); // it was there at once
          }
  }

  TEST_CASE("or that of either of two others") {
    verdict v;
    auto const all = seen({.reduces = true}, 2, order::relaxed, order::relaxed, looks[0], v);
    CHECK(all == std::set<std::uint32_t>{1, 2, 9});
    CHECK(v.limited != 0);
  }

  TEST_CASE("who says nothing of the halves has all there are") {
    verdict v;
    static_cast<void>(seen({}, 1, order::release, order::release,
                           {"none", [](world_core&, half) { return 0U; }}, v));
    CHECK(v.is_complete);
    CHECK(v.limited == 0);
  }

  TEST_CASE("store buffering where each looks at a half of the other's word: it may be left out") {
    explore_options o{.executions = 100'000, .strategy = "exhaustive"};
    o.detects_races = false;
    o.keeps_failures = false;
    verdict const v = explore(o, [](world& w) {
      auto words = w.allocate<std::uint64_t>(16, "words");
      for (std::size_t me = 0; me < 2; ++me)
        w.start("one", [=, at = words.global()](world_core& self) {
          self.store(at + 8 * me, both(1), order::release, far);
          static_cast<void>(self.load(low_half_of(at + 8 * (1 - me)), order::acquire, far));
        });
      w.join();
    });
    CHECK_MESSAGE(v, v.to_string());
    CHECK(v.limited != 0);
  }

  TEST_CASE("while the stores of a word that comes apart take place, lines are moved") {
    struct boring final : chooser {
      unsigned pick(unsigned, choice_kind) override { return 0; }
    } choices;
    cache_machine m(choices);
    auto const one = m.add_host(), other = m.add_host();
    m.reset();
    constexpr std::uintptr_t base = 0x100000, whole_line = base + 64;
    std::array<std::byte, 64> row{};
    REQUIRE(m.store_line(one, whole_line, 8, row.data()));
    REQUIRE(m.store_line(other, whole_line, 8, row.data()));
    m.fence(other, order::release, far);
    m.store(one, base, 8, both(5), order::release, far);
    for (std::uintptr_t i = 0; i < 30; ++i) // until there is room for no line more
      m.load(other, base + 64 * (4 * i + 5), 8);
    CHECK(m.load(other, base, 4, order::acquire, far).value == 5);
    CHECK(m.load(other, base, 4, order::acquire, far).value == 5);
  }
}

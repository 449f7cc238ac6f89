// SPDX-License-Identifier: Apache-2.0
#include "effect_teller.hpp"
#include "explored_hosts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

/// Writes down what it is told.
class told_effects final : public chooser {
public:
  unsigned pick(unsigned, choice_kind) override { return 0; }
  bool wants_effects() const noexcept override { return true; }
  void on_effect(std::uint32_t, effect const& e) override { all.push_back(e); }
  std::vector<effect> take() { return std::exchange(all, {}); }
  std::vector<effect> all;
};

/// By the name of its word.
std::uint64_t name_told(cache_port const& port, word* at, told_effects& told) {
  told.all.clear();
  static_cast<void>(get(port, at));
  REQUIRE(told.all.size() == 1);
  CHECK_FALSE(told.all[0].publishes);
  CHECK_FALSE(told.all[0].acquires);
  CHECK(told.all[0].is_any == (told.all[0].word == 0));
  return told.all[0].word;
}

} // namespace

TEST_SUITE("emu.effect_teller") {
  TEST_CASE("a word is told by a name that is the same wherever it lies in another execution") {
    told_effects told;
    std::set<std::uint64_t> names;
    auto const place = std::make_unique<std::array<std::uint64_t, 64>>();
    for (std::size_t const offset : {0U, 8U, 24U}) { // of the allocation, in doublewords
      explored_hosts m;
      auto* const words = reinterpret_cast<word*>(place->data() + offset);
      m.known.add(words, 32, "words");
      m.begin(told);
      auto const first = name_told(m.port(0), words, told);
      CHECK(first != 0);
      CHECK(name_told(m.port(1), words, told) == first);
      CHECK(name_told(m.port(0), words + 2, told) != first);
      names.insert(first);
    }
    CHECK(names.size() == 1);
    explored_hosts m;
    word outside = 0;
    m.begin(told);
    m.memory.share(nullptr); // anything may be accessed
    CHECK(name_told(m.port(0), &outside, told) == 0);
  }
  TEST_CASE(
      "releases publish what they write back, acquires acquire, and a launch may be anything") {
    told_effects told;
    named_row m;
    m.begin(told);
    auto const published = [&] {
      auto const all = told.take();
      return std::any_of(all.begin(), all.end(), [](effect const& e) { return e.publishes; });
    };
    put(m.port(0), &m.words[0], 1);
    CHECK_FALSE(published()); // it stays in its own cache
    m.port(0).fence(order::release, scope::system, here());
    CHECK_FALSE(published()); // it takes place with the next write
    put(m.port(0), &m.words[1], 1);
    CHECK(published());
    m.port(0).fence(order::acq_rel, scope::system, here());
    CHECK_FALSE(published()); // its release does so, too
    put(m.port(0), &m.words[0], 2);
    m.port(0).fence(order::acq_rel, scope::system, here());
    put(m.port(0), &m.words[1], 2);
    CHECK(published());
    put(m.port(0), &m.words[0], 3);
    m.port(0).fence(order::seq_cst, scope::system, here());
    CHECK(published());
    m.port(1).fence(order::acquire, scope::system, here());
    auto all = told.take();
    REQUIRE(all.size() == 1);
    CHECK(all[0].acquires);
    CHECK_FALSE(all[0].publishes);
    m.known.remove(m.words.data());
    all = told.take();
    REQUIRE(all.size() == 1);
    CHECK(all[0].is_any);
  }

  TEST_CASE("a strategy that does not ask is told nothing") {
    class unasked final : public chooser {
    public:
      unsigned pick(unsigned, choice_kind) override { return 0; }
      void on_effect(std::uint32_t, effect const&) override { ++told; }
      int told = 0;
    } choices;
    named_row m;
    m.begin(choices);
    put(m.port(0), &m.words[0], 1);
    m.port(0).fence(order::release, scope::system, here());
    m.known.remove(m.words.data());
    CHECK(choices.told == 0);
    memory_map const map;
    effect_teller effects(m.scheduler, map, m.memory.machine());
    effects.begin(choices);
    CHECK_FALSE(effects.is_asked());
    effects.name_cache(0, effect_teller::cache_kind::of_agent, 1);
    effects.tell(8, std::nullopt);
    effects.tell_any();
    CHECK_FALSE(effects.has_more());
    CHECK(choices.told == 0);
  }
}

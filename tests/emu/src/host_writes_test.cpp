// SPDX-License-Identifier: Apache-2.0
#include "five_actors.hpp"
#include "host_word.hpp"
#include "host_writes.hpp"

#include <quarry/choices.hpp>

#include <doctest/doctest.h>

#include <cstdint>

using namespace quarry_test;

namespace {

/// The first of each list: a load sees the newest value that it can see without any fetch.
class no_choice final : public chooser {
  unsigned pick(unsigned, choice_kind) override { return 0; }
};

/// Two words that host code may touch, of whom the actors' machine knows.
struct known_words {
  known_words() : f(choices), writes(f.machine) {
    f.machine.set_first_value(
        [](std::uintptr_t at, unsigned bytes, void*) { return host_word(at, bytes); }, nullptr);
    f.machine.reset();
    for (std::uint32_t const& w : words)
      load(f.host, w);
  }
  static std::uintptr_t address(std::uint32_t const& word) {
    return reinterpret_cast<std::uintptr_t>(&word);
  }
  std::uint64_t load(cache_machine::actor_id who, std::uint32_t const& word) {
    return f.machine.load(who, address(word), 4, order::acquire, scope::system).value;
  }
  /// To memory.
  void store(cache_machine::actor_id who, std::uint32_t const& word, std::uint32_t value) {
    f.machine.store(who, address(word), 4, value);
    f.machine.synchronise(who, order::release, scope::system);
  }

  no_choice choices;
  five f;
  host_writes writes;
  alignas(64) std::uint32_t words[2] = {1, 2};
};

} // namespace

TEST_SUITE("emu.host_writes") {
  TEST_CASE("what host code has stored is the taker's, and everybody's who synchronises") {
    known_words k;
    CHECK(!k.writes.is_any());
    k.words[0] = 7;
    CHECK(k.writes.is_any());
    CHECK(k.load(k.f.a, k.words[0]) == 1); // the caches know nothing of it
    k.writes.take(k.f.host);
    CHECK(!k.writes.is_any());
    CHECK(k.load(k.f.a, k.words[0]) == 7);
    CHECK(k.load(k.f.other_agent, k.words[0]) == 7);
    CHECK(k.load(k.f.a, k.words[1]) == 2);
  }
  TEST_CASE(
      "host code finds what actors have stored once it is shown, which is no write of its own") {
    known_words k;
    k.store(k.f.a, k.words[1], 9);
    CHECK(k.words[1] == 2);
    k.writes.show();
    CHECK(k.words[1] == 9);
    CHECK(!k.writes.is_any());
    CHECK(k.load(k.f.host, k.words[1]) == 9);
  }
  TEST_CASE(
      "what actors have brought to memory meanwhile is newer than what host code has stored") {
    known_words k;
    k.store(k.f.a, k.words[0], 9);
    k.words[0] = 7;
    CHECK(!k.writes.is_any());
    k.writes.take(k.f.host);
    CHECK(k.load(k.f.host, k.words[0]) == 9);
    k.writes.show();
    CHECK(k.words[0] == 9);
  }
  TEST_CASE("so is what the taker itself has stored, and not yet released") {
    known_words k;
    k.f.machine.store(k.f.host, known_words::address(k.words[0]), 4, 9);
    k.words[0] = 7;
    k.writes.take(k.f.host);
    CHECK(k.load(k.f.other_agent, k.words[0]) == 9);
  }
}

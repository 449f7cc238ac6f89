// SPDX-License-Identifier: Apache-2.0
#include "cache_machine.hpp"
#include "repetitions.hpp"

#include <quarry/random_bits.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace quarry;
using namespace quarry::emu;

constexpr std::uintptr_t data = 0x1000, flag = 0x1040;

/// Chooses what is not boring at a rate that each execution draws.
class any_choice final : public chooser {
public:
  void begin(std::uint64_t seed) {
    bits_ = random_bits(random_bits::mixed(seed));
    constexpr unsigned percents[] = {5, 20, 50, 80};
    percent_ = percents[bits_.below(4)];
  }
  unsigned pick(unsigned n, choice_kind) override {
    return bits_.below(100) < percent_ ? 1 + bits_.below(n - 1) : 0;
  }

private:
  random_bits bits_{0};
  unsigned percent_ = 0;
};

enum class accesses : std::uint8_t { by_line, by_word };

/// A line under a machine that keeps it as one, or under one that must take it word by word.
struct machine_of_lines {
  explicit machine_of_lines(accesses how) : how_(how), machine(choices) {
    auto const agent = machine.add_agent();
    auto const unit = machine.add_compute_unit(agent);
    actors = {machine.add_wavefront(unit), machine.add_wavefront(unit),
              machine.add_wavefront(machine.add_compute_unit(agent)), machine.add_host()};
  }
  void begin(std::uint64_t seed) {
    choices.begin(seed);
    machine.reset();
  }

  std::vector<std::uint64_t> load(unsigned who, unsigned element) {
    std::array<std::byte, 64> line;
    bool is_first = false;
    if (how_ == accesses::by_word ||
        !machine.load_line(actors[who], data, element, line.data(), is_first))
      for (unsigned i = 0; i < 64; i += element) {
        auto const v = machine.load(actors[who], data + i, element).value;
        std::memcpy(line.data() + i, &v, element);
      }
    std::vector<std::uint64_t> words(8);
    std::memcpy(words.data(), line.data(), 64);
    return words;
  }
  void store(unsigned who, unsigned element, std::uint8_t value) {
    std::array<std::byte, 64> line;
    line.fill(static_cast<std::byte>(value));
    if (how_ == accesses::by_line && machine.store_line(actors[who], data, element, line.data()))
      return;
    for (unsigned i = 0; i < 64; i += element) {
      std::uint64_t v = 0;
      std::memcpy(&v, line.data() + i, element);
      machine.store(actors[who], data + i, element, v);
    }
  }

  accesses how_;
  any_choice choices;
  cache_machine machine;
  std::array<cache_machine::actor_id, 4> actors{};
};

struct operation {
  enum class kind : std::uint8_t {
    load_line,
    store_line,
    load_word,
    store_word,
    release,
    acquire,
    set_flag,
    get_flag,
    update,
    settle,
    kinds
  } what;
  unsigned who;
  unsigned element;
  unsigned word;
  scope far;
};

std::vector<operation> drawn_program(random_bits& bits) {
  std::vector<operation> all;
  auto const length = 5 + bits.below(6);
  while (all.size() < length) {
    constexpr scope scopes[] = {scope::work_group, scope::agent, scope::system};
    constexpr unsigned elements[] = {8, 8, 4};
    operation o{
        static_cast<operation::kind>(bits.below(static_cast<unsigned>(operation::kind::kinds))),
        bits.below(4), elements[bits.below(3)], bits.below(2) * 5, scopes[bits.below(3)]};
    if (bits.below(2) == 0) // mostly of whole lines
      o.what = bits.below(3) == 0 ? operation::kind::load_line : operation::kind::store_line;
    if (all.size() > 1 && bits.below(2) == 0) // the same actor again
      o.who = all.back().who;
    all.push_back(o);
  }
  return all;
}

/// Two stores of one actor, while others empty caches on their way; then who looks at them knows of
/// those by a flag. With other operations between.
std::vector<operation> drawn_fences(random_bits& bits) {
  using kind = operation::kind;
  auto const who = [&bits] { return bits.below(3); };
  std::vector<operation> all{
      {kind::store_line, 0, 8, 0, scope::work_group},
      {kind::store_line, 0, 8, 0, scope::work_group},
      {bits.below(3) == 0 ? kind::acquire : kind::release, 1 + bits.below(2), 8, 0, scope::system},
      {kind::set_flag, 1 + bits.below(2), 8, 0, scope::system},
      {kind::load_line, 1 + bits.below(2), 8, 0, scope::work_group},
      {kind::get_flag, 3, 8, 0, scope::system},
      {kind::load_line, 3, 8, 0, scope::work_group}};
  constexpr kind kinds[] = {kind::store_line, kind::store_line, kind::release,
                            kind::acquire,    kind::set_flag,   kind::load_line};
  for (auto more = bits.below(3); more != 0; --more)
    all.insert(
        all.begin() + bits.below(static_cast<unsigned>(all.size())),
        {kinds[bits.below(6)], who(), 8, 0, bits.below(2) == 0 ? scope::agent : scope::system});
  return all;
}

/// What was seen of two of the words, and is there in the end.
std::string outcome_of(machine_of_lines& m, std::vector<operation> const& program) {
  std::string seen;
  auto const see = [&seen](std::uint64_t v) {
    for (unsigned i = 0; i < 8; i += 4)
      seen += static_cast<char>('0' + (v >> (8 * i) & 0x3f));
  };
  std::uint8_t value = 0;
  for (operation const& o : program) {
    auto const who = m.actors[o.who];
    std::uintptr_t const at = data + 8 * o.word;
    switch (++value; o.what) {
    case operation::kind::load_line: {
      auto const words = m.load(o.who, o.element);
      see(words[0]);
      see(words[5]);
      break;
    }
    case operation::kind::store_line:
      m.store(o.who, o.element, value);
      break;
    case operation::kind::load_word:
      see(m.machine.load(who, at, 8).value);
      break;
    case operation::kind::store_word:
      m.machine.store(who, at, 8, 0x0101'0101'0101'0101 * value);
      break;
    case operation::kind::release:
      m.machine.fence(who, order::release, o.far);
      break;
    case operation::kind::acquire:
      m.machine.fence(who, order::acquire, o.far);
      break;
    case operation::kind::set_flag:
      m.machine.store(who, flag, 8, value, order::release, o.far);
      break;
    case operation::kind::get_flag:
      see(m.machine.load(who, flag, 8, order::acquire, o.far).value);
      break;
    case operation::kind::update:
      see(m.machine
              .update(who, at, 8, order::relaxed, o.far,
                      [&](std::uint64_t) { return std::optional(0x0101'0101'0101'0101U * value); })
              .value);
      break;
    case operation::kind::settle:
    case operation::kind::kinds:
      m.machine.settle();
      break;
    }
  }
  m.machine.finish();
  see(m.machine.final_value(data, 8).value);
  see(m.machine.final_value(data + 40, 8).value);
  return seen;
}

using outcomes = std::map<std::string, unsigned>;

outcomes outcomes_of(accesses how, std::vector<operation> const& program, unsigned executions) {
  machine_of_lines m(how);
  outcomes all;
  for (std::uint64_t seed = 0; seed < executions; ++seed) {
    m.begin(seed);
    ++all[outcome_of(m, program)];
  }
  return all;
}

/// The first of those that the machine never shows.
std::string missing(accesses how, std::vector<operation> const& program, outcomes those,
                    unsigned executions) {
  machine_of_lines m(how);
  std::erase_if(those, [](auto const& o) { return o.second < 3; }); // too rare to be asked for
  for (std::uint64_t seed = 0; seed < executions && !those.empty(); ++seed) {
    m.begin(1'000'000 + seed);
    those.erase(outcome_of(m, program));
  }
  return those.empty() ? "" : those.begin()->first;
}

} // namespace

TEST_SUITE("emu.cache_lines") {
  TEST_CASE("a line that is kept as one shows what its words would show, and no more") {
    random_bits bits(random_bits::mixed(1));
    int const programs = quarry_test::fewer(250);
    int count = 0;
    for (int i = 0; i < programs; ++i) {
      CAPTURE(i);
      auto const program = i % 5 < 3 ? drawn_program(bits) : drawn_fences(bits);
      auto const by_word = outcomes_of(accesses::by_word, program, 400);
      auto const by_line = outcomes_of(accesses::by_line, program, 400);
      CHECK(missing(accesses::by_line, program, by_word, 100'000) == "");
      CHECK(missing(accesses::by_word, program, by_line, 100'000) == "");
      count += by_word.size() > 3 ? 1 : 0;
    }
    CHECK(count > programs / 5); // that have something to be missed
  }

  /// Where nobody looks meanwhile, one choice a word is for thousands of stores.
  TEST_CASE("of very many stores to a line any may be seen, the first ones and the last ones") {
    constexpr std::uint64_t stores = 3'000;
    machine_of_lines m(accesses::by_line);
    unsigned early = 0, late = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      m.begin(seed);
      for (std::uint64_t n = 1; n <= stores; ++n) {
        std::array<std::uint64_t, 8> line;
        line.fill(n);
        if (!m.machine.store_line(m.actors[0], data, 8, std::as_bytes(std::span(line)).data()))
          for (unsigned i = 0; i < 8; ++i)
            m.machine.store(m.actors[0], data + 8 * i, 8, n);
      }
      auto const last = m.load(0, 8);
      CHECK(std::all_of(last.begin(), last.end(), [](auto v) { return v == stores; }));
      for (std::uint64_t const v : m.load(2, 8)) { // on another compute unit
        CHECK(v <= stores);
        early += v != 0 && v < stores / 4 ? 1 : 0;
        late += v > stores / 4 * 3 && v != stores ? 1 : 0;
      }
    }
    CHECK(early > 0);
    CHECK(late > 0);
  }

  /// Their values take memory.
  TEST_CASE("stores to very many lines are decided before anybody looks") {
    constexpr std::uintptr_t lines = 2'000, rounds = 100;
    struct counting final : chooser {
      unsigned pick(unsigned, choice_kind) override {
        ++count;
        return 0;
      }
      unsigned count = 0;
    } choices;
    cache_machine machine(choices);
    auto const writer = machine.add_wavefront(machine.add_compute_unit(machine.add_agent()));
    std::array<std::byte, 64> value{};
    for (std::uintptr_t n = 0; n < rounds; ++n)
      for (std::uintptr_t i = 0; i < lines; ++i)
        REQUIRE(machine.store_line(writer, data + 64 * i, 8, value.data()));
    CHECK(choices.count >= lines * 4); // most lines have been, each word by a choice
  }
}

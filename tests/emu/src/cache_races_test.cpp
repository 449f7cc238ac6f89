// SPDX-License-Identifier: Apache-2.0
// Random programs of one word that everybody races for: what they read, and who has synchronised
// with whom, must go with one order of the writes.
#include "cache_machine.hpp"
#include "every_choice.hpp"
#include "repetitions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace quarry::emu;

constexpr std::size_t most_actors =
    5; ///< three wavefronts of a compute unit, one elsewhere, a host
constexpr std::size_t waves = 4, neighbours = 3;
constexpr std::uintptr_t word = 0x1000;

struct step {
  enum kind : std::uint8_t { load, store, update, release, acquire, meet } what;
  std::size_t who;
  std::size_t other; ///< whom it meets
  order how;
  scope far;
};

/// Loads are many, and the last two steps are some.
class random_programs {
public:
  explicit random_programs(std::uint64_t seed) : random_(seed) {}

  std::vector<step> next() {
    std::size_t const actors = one_in(3) ? most_actors : waves;
    std::vector<step> all(6 + below(5));
    int writes = 0;
    for (step& s : all) {
      s = any_step(actors);
      if ((s.what == step::store || s.what == step::update) && ++writes > 4)
        s.what = step::load;
    }
    for (int i = 0; i < 2; ++i)
      all.push_back({step::load, below(waves), 0, order::relaxed, scope::agent});
    return all;
  }

private:
  std::size_t below(std::size_t n) { return random_() % n; }
  bool one_in(std::size_t n) { return below(n) == 0; }

  step any_step(std::size_t actors) {
    using enum step::kind;
    static constexpr step::kind kinds[]{load,   load,   load,   load, load, store,   store,  store,
                                        update, update, update, meet, meet, release, acquire};
    static constexpr scope scopes[]{scope::work_group, scope::agent, scope::system};
    step s{kinds[below(std::size(kinds))], below(actors), 0, order::relaxed, scopes[below(3)]};
    if (s.what == store && one_in(3))
      s.how = order::release;
    if (s.what == load && one_in(5))
      s.how = order::acquire;
    if (s.what != meet)
      return s;
    bool const is_near = one_in(2);
    std::size_t const those = is_near ? neighbours : waves;
    s.who = below(those);
    s.other = (s.who + 1 + below(those - 1)) % those;
    s.far = is_near ? scope::work_group : scope::agent;
    return s;
  }

  std::mt19937_64 random_;
};

/// Values 1, 2, … are written, 0 is there at first.
class observed_order {
public:
  void wrote(std::size_t who, unsigned value) { add(who, {.written = value}); }
  void read(std::size_t who, unsigned value) { add(who, {.seen = value, .has_seen = true}); }
  void updated(std::size_t who, unsigned seen, unsigned value) {
    add(who, {.written = value, .seen = seen, .has_seen = true});
  }
  void meet(std::size_t a, std::size_t b) {
    for (std::size_t i = 0; i < most_actors; ++i)
      clocks_[a][i] = clocks_[b][i] = std::max(clocks_[a][i], clocks_[b][i]);
  }

  /// Whether one order of the writes explains it all.
  [[nodiscard]] bool is_coherent(unsigned values) const {
    std::vector<std::vector<char>> before(values + 1, std::vector<char>(values + 1, 0));
    for (unsigned v = 1; v <= values; ++v)
      before[0][v] = 1;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      event const& first = events_[i];
      if (first.has_seen && first.written != 0)
        before[first.seen][first.written] = 1;
      for (std::size_t j = i + 1; j < events_.size(); ++j)
        if (event const& later = events_[j];
            later.at[first.who] >= first.at[first.who]) // it has happened before
          order(before, first, later);
    }
    for (unsigned k = 0; k <= values; ++k)
      for (unsigned i = 0; i <= values; ++i)
        for (unsigned j = 0; j <= values; ++j)
          before[i][j] |= static_cast<char>(before[i][k] & before[k][j]);
    for (unsigned v = 0; v <= values; ++v)
      if (before[v][v] != 0)
        return false;
    return true;
  }

  [[nodiscard]] std::string text() const {
    std::string all;
    for (event const& e : events_) {
      all += static_cast<char>('a' + e.who);
      if (e.has_seen)
        all += " reads " + std::to_string(e.seen);
      if (e.written != 0)
        all += " writes " + std::to_string(e.written);
      all += "; ";
    }
    return all;
  }

private:
  using clocks = std::array<unsigned, most_actors>;
  struct event {
    unsigned written = 0;
    unsigned seen = 0;
    bool has_seen = false;
    std::size_t who = 0;
    clocks at{};
    [[nodiscard]] unsigned first() const { return has_seen ? seen : written; }
    [[nodiscard]] unsigned last() const { return written != 0 ? written : seen; }
  };

  void add(std::size_t who, event e) {
    ++clocks_[who][who];
    e.who = who;
    e.at = clocks_[who];
    events_.push_back(e);
  }
  static void order(std::vector<std::vector<char>>& before, event const& first,
                    event const& later) {
    if (first.last() != later.first() || !later.has_seen)
      before[first.last()][later.first()] = 1;
    if (first.has_seen && later.has_seen && first.seen != later.seen)
      before[first.seen][later.seen] = 1;
  }

  std::vector<event> events_;
  std::array<clocks, most_actors> clocks_{};
};

observed_order run(std::vector<step> const& program, quarry::chooser& choices, unsigned& values) {
  cache_machine m(choices);
  auto const agent = m.add_agent();
  auto const unit = m.add_compute_unit(agent), elsewhere = m.add_compute_unit(agent);
  std::array<cache_machine::actor_id, most_actors> actors{};
  for (std::size_t i = 0; i < waves; ++i)
    actors[i] = m.add_wavefront(i < neighbours ? unit : elsewhere);
  actors[waves] = m.add_host();
  observed_order seen;
  values = 0;
  for (step const& s : program) {
    auto const a = actors[s.who];
    switch (s.what) {
    case step::load:
      seen.read(s.who, static_cast<unsigned>(m.load(a, word, 4, s.how, s.far).value));
      break;
    case step::store:
      m.store(a, word, 4, ++values, s.how, s.far);
      seen.wrote(s.who, values);
      break;
    case step::update: {
      std::uint64_t const next = ++values;
      auto const old =
          m.update(a, word, 4, order::relaxed, s.far, [next](std::uint64_t) { return next; });
      seen.updated(s.who, static_cast<unsigned>(old.value), values);
      break;
    }
    case step::release:
    case step::acquire:
      m.fence(a, s.what == step::release ? order::release : order::acquire, s.far);
      break;
    case step::meet:
      for (order const o : {order::release, order::acquire})
        for (std::size_t const who : {s.who, s.other})
          m.fence(actors[who], o, s.far);
      seen.meet(s.who, s.other);
    }
  }
  return seen;
}

} // namespace

TEST_SUITE("emu.cache_races") {
  TEST_CASE("who has synchronised with others reads nothing older than they did") {
    int count = quarry_test::fewer(3'000);
    if (char const* const times = std::getenv("QUARRY_RANDOM_PROGRAMS"))
      count *= std::atoi(times);
    REQUIRE(count > 0);
    random_programs programs(1);
    std::uint64_t executions = 0;
    for (int i = 0; i < count; ++i) {
      auto const program = programs.next();
      quarry_test::every_choice choices;
      unsigned values = 0;
      int left = 4'000;
      do {
        auto const seen = run(program, choices, values);
        if (!seen.is_coherent(values)) {
          CAPTURE(i);
          FAIL_CHECK(seen.text());
          break;
        }
        ++executions;
      } while (choices.advance() && --left > 0);
    }
    MESSAGE(count, " programs, ", executions, " executions");
    CHECK(executions > static_cast<std::uint64_t>(count));
  }
}

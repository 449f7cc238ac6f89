// SPDX-License-Identifier: Apache-2.0
// The hash of the cache machine's state: where it is the same, the same may follow.
#include "cache_machine.hpp"
#include "every_choice.hpp"
#include "repetitions.hpp"

#include <quarry/choices.hpp>
#include <quarry/random_bits.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace quarry;
using namespace quarry::emu;

struct step {
  /// `look`: an update that leaves the word as it is.
  enum kind : std::uint8_t { load, store, add, look, fence } what;
  std::size_t word;
  std::optional<order> how; ///< none: plain
  scope far;
  std::uint64_t value = 0; ///< to be stored, or added
  unsigned bytes = 4;      ///< from the word's first one on
};

enum place : std::uint8_t { wave, neighbour, other_unit, other_agent, host, other_host };

struct thread {
  place where;
  std::vector<step> steps;
};
struct program {
  std::array<thread, 2> threads;
  std::size_t stride = 64; ///< bytes from one word to the other
};

/// What a thread has read, after so many steps.
struct progress {
  std::size_t steps = 0;
  std::vector<std::uint64_t> reads;

  auto operator<=>(progress const&) const = default;
};

/// What the threads have read, and the words in the end.
using outcome = std::vector<std::uint64_t>;
struct state {
  std::array<progress, 2> threads;
  std::uint64_t hash;

  auto operator<=>(state const&) const = default;
};

/// Runs the program in all executions, if there are no more than so many.
class all_futures {
public:
  explicit all_futures(program const& p, int most_executions = 100'000) : program_(p) {
    auto const agent = machine_.add_agent();
    auto const unit = machine_.add_compute_unit(agent);
    actors_ = {machine_.add_wavefront(unit),
               machine_.add_wavefront(unit),
               machine_.add_wavefront(machine_.add_compute_unit(agent)),
               machine_.add_wavefront(machine_.add_compute_unit(machine_.add_agent())),
               machine_.add_host(),
               machine_.add_host()};
    for (int n = 0; is_complete_ = n != most_executions, is_complete_; ++n) {
      run();
      if (!choices_.advance())
        break;
    }
  }
  [[nodiscard]] bool is_complete() const { return is_complete_; }

  /// Whether from each state on the same may follow, whatever has led to it.
  [[nodiscard]] bool are_of_states() const {
    REQUIRE(is_complete_);
    for (auto const& [s, by_path] : futures_)
      for (auto const& [path, outcomes] : by_path)
        if (outcomes != by_path.begin()->second)
          return false;
    return true;
  }
  [[nodiscard]] std::size_t state_count() const { return futures_.size(); }
  [[nodiscard]] std::size_t path_count() const {
    std::size_t n = 0;
    for (auto const& [s, by_path] : futures_)
      n += by_path.size();
    return n;
  }

private:
  using choices = std::vector<unsigned>;

  /// Remembers what it has chosen.
  struct recording final : chooser {
    unsigned pick(unsigned n, choice_kind k) override {
      path.push_back(all.pick(n, k));
      return path.back();
    }
    bool advance() {
      path.clear();
      return all.advance();
    }
    quarry_test::every_choice all;
    choices path;
  };

  [[nodiscard]] std::uintptr_t address(std::size_t word) const {
    return 0x1000 + program_.stride * word;
  }

  void run() {
    machine_.reset();
    state now{};
    std::vector<std::pair<state, choices>> passed;
    for (;;) {
      now.hash = machine_.hash();
      passed.emplace_back(now, choices_.path);
      std::vector<std::size_t> able;
      for (std::size_t i = 0; i < 2; ++i)
        if (now.threads[i].steps != program_.threads[i].steps.size())
          able.push_back(i);
      if (able.empty())
        break;
      std::size_t const who =
          able.size() == 1 ? able[0] : choices_.pick(2, choice_kind::write_back);
      perform(program_.threads[who].where, program_.threads[who].steps[now.threads[who].steps++],
              now.threads[who].reads);
    }
    outcome const end = outcome_of(now);
    for (auto const& [s, path] : passed)
      futures_[s][path].insert(end);
  }

  void perform(place where, step const& s, std::vector<std::uint64_t>& reads) {
    auto const a = actors_[where];
    auto const at = address(s.word);
    switch (s.what) {
    case step::load:
      reads.push_back(
          (s.how ? machine_.load(a, at, s.bytes, *s.how, s.far) : machine_.load(a, at, s.bytes))
              .value);
      break;
    case step::store:
      if (s.how)
        machine_.store(a, at, s.bytes, s.value, *s.how, s.far);
      else
        machine_.store(a, at, s.bytes, s.value);
      break;
    case step::add:
    case step::look:
      machine_.update(a, at, s.bytes, *s.how, s.far, [&](std::uint64_t old) {
        reads.push_back(old);
        return s.what == step::add ? std::optional(old + s.value) : std::nullopt;
      });
      break;
    case step::fence:
      if (s.how == order::release)
        machine_.release_later(a, s.far);
      else
        machine_.fence(a, *s.how, s.far);
      break;
    }
  }

  outcome outcome_of(state const& end) {
    outcome all;
    for (std::size_t i = 0; i < 2; ++i) {
      all.insert(all.end(), end.threads[i].reads.begin(), end.threads[i].reads.end());
      machine_.synchronise(actors_[program_.threads[i].where], order::release, scope::system);
    }
    auto const reader = actors_[program_.threads[0].where];
    machine_.synchronise(reader, order::acquire, scope::system);
    for (std::size_t word = 0; word < 2; ++word)
      all.push_back(machine_.load(reader, address(word), 4, order::relaxed, scope::system).value);
    return all;
  }

  program const& program_;
  bool is_complete_ = false;
  recording choices_;
  cache_machine machine_{choices_};
  std::array<cache_machine::actor_id, 6> actors_{};
  std::map<state, std::map<choices, std::set<outcome>>> futures_;
};

/// Of two to four steps a thread, whose words lie in lines of their own, or are the halves of eight
/// bytes. No two stores have the same value.
program draw(random_bits& bits) {
  static constexpr std::array<std::pair<place, place>, 6> places{{{wave, neighbour},
                                                                  {wave, other_unit},
                                                                  {wave, other_agent},
                                                                  {wave, host},
                                                                  {host, wave},
                                                                  {host, other_host}}};
  using enum order;
  constexpr std::optional<order> plain;
  static constexpr std::array<std::optional<order>, 3> loads{relaxed, plain, acquire};
  static constexpr std::array<std::optional<order>, 4> stores{relaxed, release, release, plain};
  static constexpr std::array updates{relaxed, acquire, release, acq_rel};
  static constexpr std::array fences{acq_rel, acq_rel, seq_cst, seq_cst, release, acquire};
  auto const [one, other] = places[bits.below(places.size())];
  program p{{{{one, {}}, {other, {}}}}, bits.below(2) == 0 ? 64U : 4U};
  auto const any_of = [&](auto const& those) { return those[bits.below(those.size())]; };
  std::uint64_t value = 1;
  for (thread& t : p.threads)
    for (auto n = 2 + bits.below(3); n != 0; --n) {
      step s{step::fence, std::size_t{bits.below(2)}, {}, scope::system};
      if (bits.below(3) != 0 && (t.where < host || bits.below(4) == 0))
        s.far = static_cast<scope>(static_cast<std::uint32_t>(scope::work_group) + bits.below(3));
      if (auto const kind = bits.below(10); kind < 3) {
        s.what = step::load;
        s.how = any_of(loads);
      } else if (kind < 6) {
        s.what = step::store;
        s.how = any_of(stores);
      } else if (kind < 7) {
        s.what = bits.below(4) == 0 ? step::look : step::add;
        s.how = any_of(updates);
      } else {
        s.how = any_of(fences);
      }
      s.value = value *= 2;
      if (p.stride == 4 && s.word == 0)
        s.bytes = any_of(std::array{4U, 8U, 1U});
      t.steps.push_back(s);
    }
  return p;
}

} // namespace

TEST_SUITE("emu.cache_hash") {
  TEST_CASE("what was fetched early counts where memory has yet to hear of the word, too") {
    program const p{{{{wave,
                       {{step::store, 0, order::relaxed, scope::agent, 1},
                        {step::store, 0, order::relaxed, scope::system, 2},
                        {step::fence, 0, order::acq_rel, scope::system},
                        {step::load, 1, order::relaxed, scope::system}}},
                      {neighbour,
                       {{step::fence, 0, order::acquire, scope::system},
                        {step::store, 1, order::release, scope::work_group, 4},
                        {step::load, 0, order::relaxed, scope::agent}}}}}};
    CHECK(all_futures(p).are_of_states());
  }

  TEST_CASE("so does which versions right above a word that is on its way are later") {
    program const p{{{{host,
                       {{step::add, 0, order::release, scope::system, 1},
                        {step::store, 1, order::relaxed, scope::system, 2},
                        {step::load, 1, order::relaxed, scope::system},
                        {step::load, 1, order::acquire, scope::system}}},
                      {wave,
                       {{step::store, 1, order::release, scope::agent, 4},
                        {step::fence, 0, order::acq_rel, scope::system},
                        {step::store, 1, order::release, scope::system, 8},
                        {step::store, 1, order::relaxed, scope::system, 16}}}}}};
    CHECK(all_futures(p).are_of_states());
  }

  TEST_CASE("so does what those have seen of later ones who may still read it") {
    program const p{{{{wave,
                       {{step::store, 1, order::relaxed, scope::system, 1},
                        {step::fence, 0, order::acquire, scope::work_group},
                        {step::load, 1, order::relaxed, scope::agent},
                        {step::fence, 0, order::acquire, scope::agent}}},
                      {host,
                       {{step::add, 0, order::acquire, scope::system, 2},
                        {step::store, 1, order::relaxed, scope::system, 4},
                        {step::fence, 0, order::seq_cst, scope::system},
                        {step::add, 0, order::acquire, scope::system, 8}}}}}};
    CHECK(all_futures(p).are_of_states());
  }

  TEST_CASE("so does who will know of what is yet fetched past a cache") {
    program const p{{{{wave,
                       {{step::load, 0, std::nullopt, scope::system, 0, 8},
                        {step::fence, 0, order::seq_cst, scope::agent},
                        {step::load, 0, order::relaxed, scope::work_group, 0, 1}}},
                      {neighbour,
                       {{step::load, 0, std::nullopt, scope::system},
                        {step::load, 0, order::relaxed, scope::agent},
                        {step::fence, 0, order::acq_rel, scope::system},
                        {step::add, 0, order::relaxed, scope::system, 1}}}}},
                    4};
    CHECK(all_futures(p).are_of_states());
  }

  TEST_CASE("from each state of random programs the same may follow, whatever has led there") {
    random_bits bits(11);
    std::size_t states = 0, paths = 0, left_out = 0;
    for (int i = 0; i < quarry_test::fewer(2'000); ++i) {
      CAPTURE(i);
      program const p = draw(bits);
      all_futures const all(p, 400);
      if (!all.is_complete()) {
        ++left_out;
        continue;
      }
      CHECK(all.are_of_states());
      states += all.state_count();
      paths += all.path_count();
    }
    MESSAGE(states, " states, to which ", paths, " ways led; programs left out: ", left_out);
    CHECK(2 * states < paths);
  }
}

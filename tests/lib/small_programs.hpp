// SPDX-License-Identifier: Apache-2.0
// Programs of a few actors over a few words, for searches to run.
#pragma once

#include <quarry/choices.hpp>
#include <quarry/exhaustive.hpp>
#include <quarry/random_bits.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace quarry_test {

/// Adds what the actor has read last to a word, or reads one.
struct step {
  std::uint64_t word; ///< from 1 on
  bool writes;
  unsigned alternatives = 1; ///< it adds one of so many numbers
  bool waits = false;        ///< until the word is not 0
};
using program = std::vector<std::vector<step>>; ///< by actor

inline program random_program(quarry::random_bits& bits) {
  program p(2 + bits.below(2));
  for (auto& actor : p)
    for (std::uint32_t n = 1 + bits.below(3); n != 0; --n)
      actor.push_back(
          {1 + bits.below(3), bits.below(2) == 0, 1 + bits.below(4) / 3, bits.below(6) == 0});
  return p;
}

/// The words and what the actors read, at the end of an execution; empty if it was given up.
template<class Search>
std::vector<std::uint64_t> run(program const& p, Search& search) {
  std::vector<std::uint64_t> words(8), read(p.size());
  std::vector<std::size_t> next(p.size());
  std::uint32_t last = 0;
  auto const can_go_on = [&](std::uint32_t a) {
    return next[a] < p[a].size() && (!p[a][next[a]].waits || words[p[a][next[a]].word] != 0);
  };
  for (;;) {
    std::vector<std::uint32_t> ready;
    if (can_go_on(last))
      ready.push_back(last);
    for (std::uint32_t a = 0; a < p.size(); ++a)
      if (a != last && can_go_on(a))
        ready.push_back(a);
    if (ready.empty())
      break;
    if (ready.size() == 1)
      search.on_only(ready.front());
    last = ready.size() == 1 ? ready.front() : ready[search.pick_actor(ready)];
    if (search.is_redundant())
      return {};
    step const s = p[last][next[last]++];
    std::uint64_t const added =
        s.alternatives == 1 ? 1 : 1 + search.pick(s.alternatives, quarry::choice_kind::value);
    if (s.writes)
      words[s.word] = 3 * words[s.word] + read[last] + added;
    else
      read[last] = words[s.word];
    search.on_effect(last, {.word = s.word});
  }
  words.insert(words.end(), read.begin(), read.end());
  words.insert(words.end(), next.begin(), next.end()); // who waits in vain
  return words;
}

struct outcome {
  std::set<std::vector<std::uint64_t>> ends;
  std::uint64_t executions = 0;
};

template<class Search>
outcome all(program const& p, Search&& search = {}) {
  outcome o;
  do {
    search.begin();
    auto const end = run(p, search);
    if (!end.empty())
      o.ends.insert(end);
  } while (search.next());
  o.executions = search.execution_count();
  return o;
}

/// Of 300 random programs a search comes to what all executions come to, in no more of them. How
/// many both needed.
struct executions {
  std::uint64_t all = 0;
  std::uint64_t searched = 0;
};
template<class Search>
executions compare_with_all() {
  quarry::random_bits bits(7);
  executions needed;
  for (int i = 0; i < 300; ++i) {
    program const p = random_program(bits);
    auto const full = all<quarry::exhaustive_search>(p);
    auto const less = all<Search>(p);
    CAPTURE(i);
    CHECK(less.ends == full.ends);
    CHECK(less.executions <= full.executions);
    needed.all += full.executions;
    needed.searched += less.executions;
  }
  MESSAGE(needed.all, " executions, of this search ", needed.searched);
  return needed;
}

} // namespace quarry_test

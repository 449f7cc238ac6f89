// SPDX-License-Identifier: Apache-2.0
// Small programs on the scheduler itself, whose queue says who goes on at no cost.
#pragma once

#include <quarry/sequential_scheduler.hpp>
#include <quarry/strand.hpp>
#include <quarry/task.hpp>
#include <quarry/this_actor.hpp>
#include <quarry/yield.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace quarry_test {

enum class does { read, write, wait };
struct scheduled_step {
  std::uint64_t word;
  does what;
};
using scheduled = std::vector<std::vector<scheduled_step>>; ///< by actor
using numbers = std::vector<std::uint64_t>;

struct scheduled_run {
  scheduled const& p;
  quarry::chooser& choices;
  quarry::sequential_scheduler& scheduler;
  numbers words = numbers(8);
  numbers read = numbers(p.size());
  numbers at = numbers(p.size());
};

inline quarry::task<> act(scheduled_run& x, std::size_t a) {
  quarry::actor& me = co_await quarry::this_actor();
  for (scheduled_step const s : x.p[a]) {
    x.scheduler.decision_point(me);
    x.choices.on_effect(me.number, {.word = s.word});
    if (s.what == does::wait)
      while (x.words[s.word] == 0) {
        auto const is_there = [&] { return x.words[s.word] != 0; };
        quarry::poll_until wait(is_there);
        co_await wait;
        x.choices.on_effect(me.number, {.word = s.word});
      }
    if (s.what == does::write)
      x.words[s.word] = 3 * x.words[s.word] + x.read[a] + a + 1;
    else
      x.read[a] = 5 * x.read[a] + x.words[s.word];
    ++x.at[a];
  }
}

template<class Search>
std::set<numbers> all_scheduled(scheduled const& p, Search& search) {
  std::set<numbers> ends;
  quarry::sequential_scheduler scheduler;
  do {
    search.begin();
    scheduler.begin(search);
    scheduled_run x{p, search, scheduler};
    quarry::strand home(scheduler, "home");
    for (std::size_t a = 0; a < p.size(); ++a)
      home.spawn(act(x, a), "actor");
    static_cast<void>(scheduler.run_until([&] { return search.is_redundant(); }));
    if (search.is_redundant())
      continue;
    numbers end = x.words;
    end.insert(end.end(), x.read.begin(), x.read.end());
    end.insert(end.end(), x.at.begin(), x.at.end());
    ends.insert(end);
  } while (search.next());
  return ends;
}

} // namespace quarry_test

// SPDX-License-Identifier: Apache-2.0
// What small worlds come to in all executions, or in those that are left.
#pragma once

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

namespace quarry_test {

using namespace quarry;
using namespace quarry::emu;

using words = std::vector<std::uint64_t>;
/// Runs a small world, and tells what its actors saw.
using shape = std::function<void(world&, words&)>;

struct explored_all {
  std::set<words> seen;
  std::uint64_t executions = 0;
};

/// How much an exhaustive exploration leaves out.
enum class search { everything, reduced, hashed };

inline explore_options options_of(search how, search_bounds most) {
  return {.executions = 400'000,
          .strategy = "exhaustive",
          .bounds = most,
          .reduces = how == search::reduced,
          .hashes_states = how == search::hashed,
          .detects_races = false};
}

inline void check_complete(verdict const& v, search_bounds most) {
  CHECK_MESSAGE(v, v.to_string());
  CHECK((v.is_complete || (most && v.is_complete_up_to == most)));
}

/// The limit of executions has left nothing out, though caches may have: a word's parts were older
/// than what they remember.
inline void check_all_run(verdict const& v, search_bounds) {
  CHECK_MESSAGE(v, v.to_string());
  CHECK_FALSE(v.is_cut_short);
}

inline explored_all all_of(shape const& f, search how, search_bounds most = {},
                           void (*check)(verdict const&, search_bounds) = check_complete) {
  explored_all e;
  verdict const v = explore(options_of(how, most), [&](world& w) {
    words seen(4);
    f(w, seen);
    e.seen.insert(seen);
  });
  check(v, most);
  e.executions = v.executions;
  return e;
}

struct named {
  char const* name;
  shape what;
};

using at = global<std::uint64_t>;

} // namespace quarry_test

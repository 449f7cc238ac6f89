// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache_machine.hpp"
#include "every_choice.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>

namespace quarry_test {

using namespace quarry;
using namespace quarry::emu;

constexpr std::uintptr_t x = 0x1000, y = 0x1040, z = 0x1080;

/// Two wavefronts in one work-group, one in another, one on another agent, and a host thread.
struct five {
  explicit five(chooser& c) : machine(c) {
    auto const agent = machine.add_agent();
    auto const unit = machine.add_compute_unit(agent);
    a = machine.add_wavefront(unit);
    b = machine.add_wavefront(unit);
    other_group = machine.add_wavefront(machine.add_compute_unit(agent));
    other_agent = machine.add_wavefront(machine.add_compute_unit(machine.add_agent()));
    host = machine.add_host();
  }
  cache_machine machine;
  cache_machine::actor_id a, b, other_group, other_agent, host;
};

using outcomes = std::set<std::uint64_t>;

inline outcomes explore_all(std::function<std::uint64_t(five&)> const& program) {
  every_choice choices;
  five f(choices);
  outcomes seen;
  do {
    f.machine.reset();
    seen.insert(program(f));
  } while (choices.advance());
  return seen;
}

inline void add(five& f, cache_machine::actor_id who, std::uintptr_t at, order o, scope s) {
  f.machine.update(who, at, 4, o, s, [](std::uint64_t v) { return std::optional(v + 1); });
}

inline void add_one(cache_machine& m, cache_machine::actor_id who, scope s,
                    order o = order::acq_rel) {
  m.update(who, x, 4, o, s, [](std::uint64_t v) { return std::optional(v + 1); });
}

} // namespace quarry_test

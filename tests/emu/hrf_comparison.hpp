// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hrf_programs.hpp"
#include "hrf_reference.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace quarry::emu::hrf {

inline race_detector make_detector(places const& where, bool is_direct) {

  race_detector d;
  d.lint_direct(is_direct);
  for (std::uint32_t i = 0; i < where.size(); ++i)
    d.add_actor(i, where[i]);
  return d;
}

using races = std::vector<std::optional<race_detector::race>>;

inline std::optional<race_detector::race> perform(race_detector& d, step const& s,
                                                  std::vector<std::uint32_t>& ids, std::size_t i) {
  std::uint32_t const from = s.from < 0 ? 0 : ids[static_cast<std::size_t>(s.from)];
  switch (s.what) {
  case step::type::fence:
    d.fence(s.actor, *s.order, s.scope);
    return {};
  case step::type::meet:
    d.meet(s.meeting);
    return {};
  case step::type::signal:
    ids[i] = d.signal(s.actor);
    return {};
  case step::type::receive:
    d.receive(s.actor, from);
    return {};
  default:
    break;
  }
  switch (s.access) {
  case kind::load:
    return d.load(s.actor, s.at, s.bytes, s.order, s.scope, from, {});
  case kind::store:
    return d.store(s.actor, s.at, s.bytes, s.order, s.scope, ids[i], {});
  default:
    return d.update(s.actor, s.at, s.bytes, *s.order, s.scope, from, s.access == kind::update,
                    ids[i], {});
  }
}

inline races run(race_detector& d, program const& p) {
  std::vector<std::uint32_t> ids(p.size());
  races found;
  d.reset();
  for (std::size_t i = 0; i < p.size(); ++i)
    found.push_back(perform(d, p[i], ids, i));
  return found;
}

/// As the detector, by definition: does step j race with step i?
inline bool races_with(program const& p, places const& where, std::size_t i, std::size_t j) {
  return hrf::conflict(p[i], p[j], where) && !hrf::happens_before(p, where)(i, j);
}

/// Makes the changes that a race asks for.
inline program mended(program p, race_detector::race const& r) {
  for (race_detector::change const& c : r.changes) {
    step& s = p[c.what.step - 1];
    s.order = c.order;
    s.scope = std::max(s.scope, c.scope);
  }
  return p;
}

/// All that could be done without other operations.
inline program strongest(program p) {
  for (step& s : p)
    if (s.order) {
      s.order = order::seq_cst;
      s.scope = scope::system;
    }
  return p;
}

/// Every step's verdict is the definition's, and what is said to be missing would have done.
inline void check_against_definition(race_detector& d, program const& p, places const& where,
                                     bool is_direct = false) {
  races const found = run(d, p);
  hrf::happens_before const before(p, where);
  std::vector<hrf::happens_before> direct;
  for (scope const s : scopes)
    if (is_direct)
      direct.emplace_back(p, where, s);
  for (std::size_t j = 0; j < p.size(); ++j) {
    bool is_racing = false;
    for (std::size_t i = 0; i < j; ++i) {
      bool races = hrf::conflict(p[i], p[j], where) && !before(i, j);
      if (is_direct && hrf::conflict(p[i], p[j], where))
        races = std::none_of(direct.begin(), direct.end(), [&](auto const& o) { return o(i, j); });
      is_racing = is_racing || races;
      if (found[j] && found[j]->first.step == i + 1)
        REQUIRE(races);
    }
    REQUIRE(found[j].has_value() == is_racing);
    if (!found[j])
      continue;
    // What is missing would have done, and is found if anything could.
    std::size_t const i = found[j]->first.step - 1;
    if (!found[j]->changes.empty())
      REQUIRE(!races_with(mended(p, *found[j]), where, i, j));
    else if (found[j]->missing == race_detector::missing_edge::no_synchronisation)
      REQUIRE(races_with(strongest(p), where, i, j));
  }
}

} // namespace quarry::emu::hrf

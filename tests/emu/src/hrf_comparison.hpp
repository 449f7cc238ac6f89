// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hrf_programs.hpp"
#include "hrf_reference.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace quarry::emu::hrf {

/// Three wavefronts in one work-group, one in another, one on another agent, a host thread, and a
/// wavefront on another node, where numbers are the same.
enum who : std::uint32_t { a, b, c, other_group, other_agent, host, other_node };
inline places const everybody{{0, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 2}, {0, 0, 1, 3},
                              {0, 1, 2, 4}, {0, 9, 7, 7}, {1, 0, 0, 0}};

inline race_detector make_detector(bool is_direct = false) {
  race_detector d;
  d.lint_direct(is_direct);
  for (std::uint32_t i = 0; i < everybody.size(); ++i)
    d.add_actor(i, everybody[i]);
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
  auto const told = [&] {
    return race_detector::access{
        .actor = s.actor, .order = s.order, .scope = s.scope, .address = s.at, .bytes = s.bytes};
  };
  switch (s.access) {
  case kind::load:
    return d.load(told(), from);
  case kind::store:
    return d.store(told(), ids[i]);
  default:
    return d.update(told(), from, s.access == kind::update, ids[i]);
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

/// The last race of a program.
inline std::optional<race_detector::race> last_race(program const& p, bool is_direct = false) {
  race_detector d = make_detector(is_direct);
  std::optional<race_detector::race> last;
  for (auto const& r : run(d, p))
    if (r)
      last = r;
  return last;
}

inline bool is_racy(program const& p, bool is_direct = false) {
  return last_race(p, is_direct).has_value();
}

/// As the detector, by definition: does step j race with step i?
inline bool races_with(program const& p, std::size_t i, std::size_t j) {
  return hrf::conflict(p[i], p[j], everybody) && !hrf::happens_before(p, everybody)(i, j);
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

/// Is every step's verdict the definition's, and would what is said to be missing have done?
inline bool agrees(race_detector& d, program const& p, bool is_direct = false) {
  races const found = run(d, p);
  std::vector<hrf::happens_before> before;
  if (is_direct)
    for (scope const s : scopes)
      before.emplace_back(p, everybody, s);
  else
    before.emplace_back(p, everybody);
  auto const is_race = [&](std::size_t i, std::size_t j) {
    return hrf::conflict(p[i], p[j], everybody) &&
           std::none_of(before.begin(), before.end(), [&](auto const& o) { return o(i, j); });
  };
  for (std::size_t j = 0; j < p.size(); ++j) {
    std::size_t first = 0;
    while (first < j && !is_race(first, j))
      ++first;
    if (found[j].has_value() != (first < j))
      return false;
    if (!found[j])
      continue;
    std::size_t const i = found[j]->first.step - 1;
    if (!is_race(i, j))
      return false;
    // It is found if anything could have done.
    if (found[j]->changes.empty()
            ? found[j]->missing == race_detector::missing_edge::no_synchronisation &&
                  !races_with(strongest(p), i, j)
            : races_with(mended(p, *found[j]), i, j))
      return false;
  }
  return true;
}

} // namespace quarry::emu::hrf

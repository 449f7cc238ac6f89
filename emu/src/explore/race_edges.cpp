// SPDX-License-Identifier: Apache-2.0
// What orders actors besides the values that they read: fences, meetings, kernels' beginnings and
// ends.
#include "clock_blocks.hpp"
#include "race_marks.hpp"

#include <quarry/assert.hpp>

#include <algorithm>

namespace quarry::emu {

void race_detector::acquire_fence(actor_id a, scope s) {
  actor& self = actors_[a];
  auto const join_row = [&](std::size_t to, std::size_t from) {
    join_blocks(clock(a, to), clock(a, from), in_blocks(actors_.size()));
    self.clock = none;
  };
  for (std::size_t i = 0; i < scope_count && s >= scope::work_group && i <= index(s); ++i) {
    if ((self.pending >> i & 1U) != 0)
      join_row(row::known, row::joinable + i);
    self.pending = static_cast<std::uint8_t>(self.pending & ~(1U << i));
    if (is_direct_)
      join_row(row::direct + i, row::joinable_from + i);
    if (is_direct_ && i == index(s))
      join_row(row::direct + i, row::joinable_only + i);
  }
}

void race_detector::release_fence(actor_id a, scope s) {
  if (s < scope::work_group)
    return;
  actors_[a].released_at[index(s)] = now_;
  actors_[a].released_clock[index(s)] = copy_clock(a);
}

void race_detector::fence(actor_id a, order o, scope s) {
  fence(a, o, s, site{});
}

void race_detector::fence(actor_id a, order o, scope s, site where) {
  activate(a, where.lane);
  ++now_;
  if (acquires(o))
    acquire_fence(a, s);
  if (releases(o))
    release_fence(a, s);
  past_fence const f{.at = now_,
                     .clock = copy_clock(a),
                     .where = where.where,
                     .actor = static_cast<std::uint16_t>(a),
                     .lane = where.lane,
                     .how = pack({.what = access::kind::load, .order = o, .scope = s})};
  if (fences_.size() < kept)
    fences_.push_back(f);
  else
    fences_[fence_count_ % kept] = f;
  ++fence_count_;
}

void race_detector::meet(std::span<actor_id const> those) {
  if (those.empty())
    return;
  scope widest = scope::work_group;
  for (actor_id const a : those) {
    activate(a, -1);
    acquire_fence(a, scope::work_group);
    widest = std::max(widest, level(those.front(), a));
  }
  ++now_;
  // Everything comes together in the first one's row, and goes from there to the others.
  auto const meet_in = [&](std::size_t which) {
    time* const all = clock(those.front(), which);
    for (actor_id const a : those) {
      time const* const own = clock(a, which);
      for (std::size_t i = 0; i < actors_.size(); ++i)
        all[i] = std::max(all[i], own[i]);
    }
    for (actor_id const a : those)
      all[a] = now_;
    for (actor_id const a : those.subspan(1))
      std::copy_n(all, actors_.size(), clock(a, which));
  };
  meet_in(row::known);
  if (is_direct_)
    meet_in(row::direct + index(widest));
  for (actor_id const a : those)
    actors_[a].clock = none;
  for (actor_id const a : those)
    release_fence(a, scope::work_group);
}

race_detector::edge race_detector::signal(actor_id a) {
  activate(a, -1);
  ++now_;
  edges_.push_back({now_, copy_clock(a), static_cast<std::uint16_t>(a), scope::system});
  return static_cast<edge>(edges_.size() - 1);
}

void race_detector::begin_kernel(actor_id a) {
  activate(a, -1);
  actors_[a].is_kernel = true;
  if (!coarse_.is_empty())
    actors_[a].begun = copy_clock(a);
}

race_detector::edge race_detector::end_kernel(actor_id a) {
  edge const e = signal(a);
  actors_[a].ended = now_;
  return e;
}

void race_detector::receive(actor_id a, edge from) {
  QUARRY_ASSERT(from < edges_.size());
  activate(a, -1);
  ++now_;
  head const& h = edges_[from];
  learn(a, h);
  if (is_direct_ && h.actor != a) [[unlikely]] {
    time* const direct = clock(a, row::direct + index(scope::system));
    join(direct, h.clock, 1 + index(scope::system));
    direct[h.actor] = std::max(direct[h.actor], h.at);
    actors_[a].clock = none;
  }
}

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
// Clocks: what happens before what. What orders besides writes and reads is in race_edges.cpp,
// which accesses conflict in race_shadow.cpp.
#include "clock_blocks.hpp"
#include "race_marks.hpp"

#include <quarry/assert.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <utility>

namespace quarry::emu {

// Actors

void race_detector::lint_direct(bool on) {
  reset();
  is_direct_ = on;
  stride_ = 0;
  resize_rows(actors_.size());
}

void race_detector::reset() {
  for (actor_id const a : active_) {
    std::fill_n(clock(a, 0), actor_stride_, 0);
    actors_[a] = {.where = actors_[a].where};
  }
  active_.clear();
  coarse_.clear();
  copied_ = 0;
  heads_.clear();
  writes_.resize(1);
  joined_ = {};
  edges_.clear();
  marks_.clear();
  free_mark_ = none;
  lines_.clear();
  found_.reset();
  weak_reads_.clear();
  fences_.clear();
  weak_read_count_ = fence_count_ = 0;
  now_ = 0;
}

void race_detector::add_actor(actor_id a, place where) {
  QUARRY_ASSERT(a <= actors_.size() && a <= 0xffff);
  if (a < actors_.size()) {
    QUARRY_ASSERT(!actors_[a].has_acted);
    actors_[a].where = where;
    return;
  }
  actors_.push_back({.where = where});
  resize_rows(actors_.size());
}

void race_detector::resize_rows(std::size_t actors) {
  if (actors <= stride_)
    return;
  std::size_t const stride = std::max(in_blocks(actors), 2 * stride_);
  std::vector<time> rows(stride * row_count() * stride);
  if (stride_ != 0)
    for (std::size_t r = 0; r < stride_ * row_count(); ++r)
      std::copy_n(rows_.data() + r * stride_, stride_, rows.data() + r * stride);
  rows_ = std::move(rows);
  stride_ = stride;
  actor_stride_ = row_count() * stride;
}

/// The narrowest scope that includes both.
scope race_detector::level(actor_id a, actor_id b) const noexcept {
  if (a == b)
    return scope::wavefront;
  place const& p = actors_[a].where;
  place const& q = actors_[b].where;
  if (p.agent != q.agent || p.node != q.node)
    return scope::system;
  return p.work_group == q.work_group ? scope::work_group : scope::agent;
}

void race_detector::begin_instruction(actor_id a) {
  activate(a, 0);
  actor& self = actors_[a];
  self.instruction = now_ + 1;
  self.released_by = -1;
  if (self.meetings != nullptr) [[unlikely]]
    self.meetings->is_any = false;
}

void race_detector::lanes_wait(actor_id a) {
  actor& self = actors_[a];
  if (self.meetings == nullptr)
    self.meetings = std::make_unique<lane_meetings>();
  lane_meetings& m = *self.meetings;
  m.is_waiting = true;
  m.was_any = std::exchange(m.is_any, false);
  m.instruction = std::exchange(self.instruction, none);
  m.released_by = std::exchange(self.released_by, std::int16_t{-1});
}

void race_detector::lanes_meet(actor_id a, std::uint64_t lanes) {
  activate(a, 0);
  actor& self = actors_[a];
  if (self.meetings == nullptr)
    self.meetings = std::make_unique<lane_meetings>();
  lane_meetings& m = *self.meetings;
  if (std::exchange(m.is_waiting, false)) {
    self.instruction = m.instruction;
    self.released_by = m.released_by;
    m.is_any = m.was_any;
  }
  if (!std::exchange(m.is_any, true))
    m.last.fill(0);
  for (; lanes != 0; lanes &= lanes - 1)
    m.last[static_cast<std::size_t>(std::countr_zero(lanes))] = now_ + 1;
}

void race_detector::lane_acquires(actor_id a, std::int16_t lane, std::optional<write_id> from) {
  auto const by = actors_[a].released_by;
  if (by == -1 || by == lane)
    return;
  write_id w = from.value_or(0);
  while (w != 0 && !writes_[w].is_of_two && writes_[w].actor == a && writes_[w].lane == lane)
    w = writes_[w].read_from;
  if (!from || w != 0)
    begin_instruction(a);
}

void race_detector::lane_releases(actor_id a, std::int16_t lane) {
  auto& by = actors_[a].released_by;
  by = by == -1 || by == lane ? lane : several_lanes;
}

// Clocks

/// The actor's clock as it is, but for its own entry. The same copy again until it learns more.
std::uint32_t race_detector::copy_clock(actor_id a) {
  actor& self = actors_[a];
  if (self.clock != none)
    return self.clock;
  std::size_t const length = in_blocks(actors_.size());
  std::size_t const end = copied_ + 1 + length * (is_direct_ ? 1 + scope_count : 1);
  if (end > copies_.size()) [[unlikely]] {
    if (end > none)
      throw std::length_error("explore: so many actors, and so long an execution, that the race "
                              "detector's clocks are more than it can number: take fewer "
                              "actors, fewer decisions, or no race detector (detects_races)");
    copies_.resize(std::min<std::size_t>(2 * end, none));
  }
  self.clock = static_cast<std::uint32_t>(copied_);
  time* to = copies_.data() + copied_;
  *to++ = static_cast<time>(length);
  copied_ = end;
  copy_blocks(to, clock(a, row::known), length);
  for (std::size_t s = 0; is_direct_ && s < scope_count; ++s)
    copy_blocks(to += length, clock(a, row::direct + s), length);
  return self.clock;
}

/// Joins the `which`-th part of a copied clock.
void race_detector::join(time* to, std::uint32_t copy, std::size_t which) const noexcept {
  std::size_t const length = copies_[copy];
  join_blocks(to, copies_.data() + copy + 1 + which * length, length);
}

/// What happened before a release happened before the actor's next step.
void race_detector::learn(actor_id a, head const& h) {
  time* const known = clock(a, row::known);
  // Who knows of a release knows what its actor knew then.
  if (h.actor == a || known[h.actor] >= h.at)
    return;
  join(known, h.clock, 0);
  known[h.actor] = h.at;
  actors_[a].clock = none;
}

// Writes

void race_detector::acquire(access const& a, order o, write_id from) {
  if (from == 0)
    return;
  QUARRY_ASSERT(from < writes_.size());
  write const& w = writes_[from];
  bool is_known = !w.has_gap;
  for (std::size_t i = w.first_head; i < w.first_head + w.head_count; ++i)
    if (heads_[i].actor != a.actor && !take(a, o, heads_[i]))
      is_known = false;
  if (!is_known || !knows(a.actor, w.actor, w.at))
    remember(a, from);
}

/// What a load has of a release that it reads from. True if its past is known then.
bool race_detector::take(access const& a, order o, head const& h) {
  if (is_direct_)
    take_directly(a, o, h);
  if (knows(a.actor, h.actor, h.at))
    return true;
  scope const needed = level(h.actor, a.actor);
  if (std::min(h.scope, a.scope) < needed)
    return false;
  if (acquires(o)) {
    learn(a.actor, h);
    return true;
  }
  time* const later = clock(a.actor, row::joinable + index(needed));
  if (later[h.actor] >= h.at)
    return false;
  join(later, h.clock, 0);
  later[h.actor] = h.at;
  actor& self = actors_[a.actor];
  self.pending = static_cast<std::uint8_t>(self.pending | 1U << index(needed));
  return false;
}

void race_detector::remember(access const& a, write_id from) {
  std::size_t& last = actors_[a.actor].last_weak;
  if (last != 0 && weak_read_count_ - last < kept) { // the same again, as in a loop
    weak_read& before = weak_reads_[(last - 1) % kept];
    if (before.from == from && before.how == pack(a) && before.where.line() == a.at.where.line() &&
        before.where.file_name() == a.at.where.file_name()) { // a literal, mostly the same one
      if (before.lane != a.at.lane)
        before.lane = several_lanes;
      return;
    }
  }
  weak_read const r{.from = from,
                    .at = now_,
                    .address = a.address,
                    .where = a.at.where,
                    .actor = static_cast<std::uint16_t>(a.actor),
                    .lane = a.at.lane,
                    .bytes = static_cast<std::uint8_t>(a.bytes),
                    .how = pack(a)};
  if (weak_reads_.size() < kept)
    weak_reads_.push_back(r);
  else
    weak_reads_[weak_read_count_ % kept] = r;
  last = ++weak_read_count_;
}

/// The lint's part: release and acquire have the same scope.
void race_detector::take_directly(access const& a, order o, head const& h) {
  if (std::min(h.scope, a.scope) < level(h.actor, a.actor))
    return;
  std::size_t const s = index(h.scope);
  auto const join_to = [&](std::size_t which) {
    time* const to = clock(a.actor, which);
    join(to, h.clock, 1 + s);
    to[h.actor] = std::max(to[h.actor], h.at);
  };
  if (acquires(o) && a.scope == h.scope) {
    join_to(row::direct + s);
    actors_[a.actor].clock = none;
  }
  // With a fence the narrower scope counts.
  if (a.scope == h.scope)
    join_to(row::joinable_from + s);
  else if (a.scope > h.scope)
    join_to(row::joinable_only + s);
}

/// Replaces those from `first` on that it stands for.
void race_detector::add_head(std::size_t first, head const& h) {
  auto const covers = [this](head const& x, head const& y) {
    if (y.scope != x.scope && (is_direct_ || y.scope > x.scope))
      return false;
    if (x.actor == y.actor)
      return x.at >= y.at;
    // The same others are in the work-groups of the two, as far as they are in the scopes.
    return !is_direct_ && level(x.actor, y.actor) == scope::work_group &&
           knew(x.clock, y.actor, y.at);
  };
  auto const begin = heads_.begin() + static_cast<std::ptrdiff_t>(first);
  bool const is_old = h.at != now_;
  if (is_old && std::any_of(begin, heads_.end(), [&](head const& x) { return covers(x, h); }))
    return;
  heads_.erase(std::remove_if(begin, heads_.end(), [&](head const& x) { return covers(h, x); }),
               heads_.end());
  heads_.push_back(h);
}

/// An atomic write, with what can be acquired from it.
race_detector::write_id race_detector::publish(access const& a, order o, write_id read_from) {
  write const& before = writes_[read_from];
  write w{.at = now_,
          .clock = copy_clock(a.actor),
          .read_from = read_from,
          .first_head = before.first_head,
          .address = a.address,
          .where = a.at.where,
          .actor = static_cast<std::uint16_t>(a.actor),
          .head_count = before.head_count,
          .lane = a.at.lane,
          .bytes = static_cast<std::uint8_t>(a.bytes),
          .how = pack(a),
          .has_gap = false,
          .is_of_two = false};
  if (read_from != 0)
    w.has_gap = before.has_gap || !releases(static_cast<order>(before.how.order));
  add_heads(w, releases(o));
  writes_.push_back(w);
  return static_cast<write_id>(writes_.size() - 1);
}

race_detector::write_id race_detector::join(write_id a, write_id b) {
  if (a == b || a == 0 || b == 0)
    return std::max(a, b);
  joined& known = joined_[(a + b) % joined_.size()];
  if (known.a == a && known.b == b)
    return known.both;
  write both = writes_[std::max(a, b)]; // for reports it is the newer one
  auto const first = static_cast<std::uint32_t>(heads_.size());
  for (write_id const id : {std::max(a, b), std::min(a, b)})
    for (std::size_t i = 0; i < writes_[id].head_count; ++i)
      heads_.push_back(heads_[writes_[id].first_head + i]);
  both.first_head = first;
  both.head_count = static_cast<std::uint16_t>(heads_.size() - first);
  both.has_gap = writes_[a].has_gap || writes_[b].has_gap;
  both.is_of_two = writes_[a].is_of_two || writes_[b].is_of_two ||
                   writes_[a].actor != writes_[b].actor || writes_[a].lane != writes_[b].lane;
  writes_.push_back(both);
  known = {a, b, static_cast<write_id>(writes_.size() - 1)};
  return known.both;
}

/// To those that it has of the write that it continues.
void race_detector::add_heads(write& w, bool is_release) {
  actor const& self = actors_[w.actor];
  if (!is_release && self.released_at == decltype(self.released_at){})
    return;
  auto const width = static_cast<scope>(w.how.scope);
  std::size_t const first = heads_.size();
  for (std::size_t i = 0; i < w.head_count; ++i)
    heads_.push_back(heads_[w.first_head + i]);
  if (is_release && width >= scope::work_group)
    add_head(first, {w.at, w.clock, w.actor, width});
  for (scope const s : {scope::system, scope::agent, scope::work_group})
    if (time const at = self.released_at[index(s)]; at != 0 && width >= scope::work_group)
      add_head(first, {at, self.released_clock[index(s)], w.actor, std::min(width, s)});
  w.first_head = static_cast<std::uint32_t>(first);
  w.head_count = static_cast<std::uint16_t>(heads_.size() - first);
}

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
// What updates have overwritten, while it may still be seen: an update reads and writes at once,
// but to others its write is there no sooner than a store's in its place would be.
#include "cache_cells.hpp"

#include <algorithm>
#include <span>

namespace quarry::emu {

/// The version that an update has just overwritten there: from now on.
void cache_machine::let_linger(node_id n, cell_id c) {
  auto const lose = [this](lingering_version v) {
    end_lingering(v.at, v.of, v.which);
    nodes_[v.at].places[v.of].lost = v.which + 1;
  };
  place& p = nodes_[n].places[c];
  if (index const first = p.count - 2 - p.lingering; p.lingering != 0 && !p.remembers(first))
    lose({c, n, first, 0, false});
  if (lingering_.size() == most_lingering)
    lose(lingering_.front());
  index const which = p.count - 2;
  p[which].until = always;
  ++p.lingering;
  lingering_.push_back({c, n, which, now_++, false});
}

/// Who acquires at that cache from now on sees nothing older of what stands farther up.
void cache_machine::release_version(node_id n, cell_id c, std::uint8_t height, index least) {
  place& p = touch(n, c);
  p.passed[height] = std::max(p.passed[height], least);
  if (p.passed_at == 0)
    p.passed_at = now_;
}

/// The versions of the place up to `last`: who has not fetched them does so no longer, nor does who
/// acquires at a cache on the way from now on.
void cache_machine::end_lingering(node_id n, cell_id c, index last) {
  place& p = nodes_[n].places[c];
  std::erase_if(lingering_, [&](lingering_version const& v) {
    if (v.of != c || v.at != n || v.which > last)
      return false;
    if (p.remembers(v.which))
      p[v.which].until = now_;
    --p.lingering;
    return true;
  });
  if (p.lost <= last + 1)
    p.lost = 0;
  for (node_id below = n + 1; below < node_count_; ++below)
    if (!nodes_[below].is_leaf && has(below, c) && is_under(below, n)) // others know nothing of it
      release_version(below, c, nodes_[n].level, last + 1);
  ++now_;
  tell_published(c);
}

void cache_machine::end_lingering(cell_id c) {
  for (node_id n = 0; n < node_count_ && !lingering_.empty(); ++n)
    if (has(n, c) && nodes_[n].places[c].lingering != 0)
      end_lingering(n, c, nodes_[n].places[c].count - 2);
}

/// f(a copy) may end that one, and those before it.
template<class F>
void cache_machine::for_each_lingering(F const& f) {
  for (std::size_t i = lingering_.size(); i-- != 0; i = std::min(i, lingering_.size()))
    f(lingering_version(lingering_[i]));
}

/// The actor empties its caches below the level: what lingers there is gone as well.
void cache_machine::empty_lingering(actor const& a, unsigned level, words which) {
  for_each_lingering([&](lingering_version const& v) {
    bool const is_kept = holds(v.at, v.of) && which != words::all;
    if (!is_kept && level_at(a, v.at) < level)
      end_lingering(v.at, v.of, v.which);
  });
}

/// The first version at the path's `level` that is not older than what somebody knew who has
/// released to the actor at a cache below there.
cache_machine::index cache_machine::least_released(actor const& a, cell_id c,
                                                   unsigned level) const {
  index least = 0;
  for (unsigned l = 1; l < level; ++l)
    if (place const& p = *way_[l];
        p.passed_at != 0 && since(a.path[0], c)[nodes_[a.path[l]].level] >= p.passed_at)
      least = std::max(least, p.passed[nodes_[a.path[level]].level]);
  return least;
}

/// The actor has seen what comes after the version at the path's `level`, or somebody who has, or
/// who has written that, has released to it.
bool cache_machine::is_superseded(actor const& a, cell_id c, unsigned level, index which) const {
  return which <
             std::max(way_[0]->seen[nodes_[a.path[level]].level], least_released(a, c, level)) ||
         is_outdated(a, c, level, (*way_[level])[which], false);
}

/// The actor releases at the path's `level` what came before that time: updates of its own, and
/// those that it has seen, or that have been released to it.
void cache_machine::publish_updates(actor const& a, unsigned level, time before) {
  auto const caches = std::span(a.path).first(a.levels - 1U);
  for_each_lingering([&](lingering_version const& v) {
    unsigned const at = level_at(a, v.at);
    bool const may_know = v.since < before && at != a.levels &&
                          std::ranges::any_of(caches, [&](node_id n) { return has(n, v.of); });
    if (!may_know)
      return;
    set_way(a, v.of);
    if (!is_superseded(a, v.of, at, v.which))
      return;
    if (at <= level)
      return end_lingering(v.at, v.of, v.which);
    for (unsigned l = 1; l <= level; ++l)
      release_version(a.path[l], v.of, nodes_[v.at].level, v.which + 1);
    ++now_;
    tell_published(v.of);
  });
}

/// Those at the path's `level`, for a load that is performed there; the oldest first.
void cache_machine::collect_lingering(actor const& a, cell_id c, unsigned level, sight s) {
  node_id const n = a.path[level];
  place const& p = *way_[level];
  if (p.lost != 0 && !is_superseded(a, c, level, p.lost - 1))
    leave_out();
  for (lingering_version const& v : lingering_)
    if (v.of == c && v.at == n && !(s == sight::seq_cst && v.is_before_seq_cst) &&
        !is_superseded(a, c, level, v.which))
      candidates_.push_back({candidate::kind::version, static_cast<std::uint8_t>(level), true,
                             false, v.which, p[v.which].value});
}

/// What the actor has seen of the word is there for all seq_cst loads that come after it.
void cache_machine::see_in_seq_cst(actor const& a, cell_id c) {
  set_way(a, c);
  for (lingering_version& v : lingering_) {
    unsigned const at = level_at(a, v.at);
    if (v.of != c || v.is_before_seq_cst || at == a.levels || !is_superseded(a, c, at, v.which))
      continue;
    v.is_before_seq_cst = true;
    tell_published(c);
  }
}

/// A seq_cst fence: what comes after it comes after what a seq_cst load has seen before.
void cache_machine::end_seen_in_seq_cst() {
  for_each_lingering([&](lingering_version const& v) {
    if (v.is_before_seq_cst)
      end_lingering(v.at, v.of, v.which);
  });
}

/// Whether releases that are to come take it along is part of the state, too.
void cache_machine::mix_lingering(std::uint64_t& h) const {
  std::uint64_t all = 0; // in whatever order
  for (lingering_version const& v : lingering_) {
    std::uint64_t one = 0;
    mix(one, cells_[v.of].at);
    mix(one, 2U * v.at + (v.is_before_seq_cst ? 1U : 0U));
    mix(one, nodes_[v.at].places[v.of].count - v.which);
    for (actor const& a : actors_)
      if (a.has_release_to_come())
        mix(one, releases_after(a, v.since));
    all += one;
  }
  mix(h, all);
}

} // namespace quarry::emu

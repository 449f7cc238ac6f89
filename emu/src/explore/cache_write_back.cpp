// SPDX-License-Identifier: Apache-2.0
// How words of the cache machine reach the next cache, and in which order.
#include "cache_cells.hpp"

#include <algorithm>

namespace quarry::emu {

void cache_machine::become_dirty(node_id n, cell_id c) {
  place& p = nodes_[n].places[c];
  p.is_dirty = true;
  dirty_of(n, c).push_back(c);
  node_id* link = &cells_[c].first_holder;
  while (*link != nobody)
    link = &nodes_[*link].places[c].next_holder;
  *link = n;
  p.next_holder = nobody;
}

/// The write of which `v` has the value, the tag, the id and the update is the newest at the node
/// now. It will be farther up at the node level `due`, and could have been since then.
void cache_machine::come_to(node_id n, cell_id c, version const& v, std::uint8_t due, time since,
                            time from) {
  place const& p = touch(n, c);
  time const could_be = std::max(since, p.fetched_since());
  auto const above = p.count == 0 ? unknown : p.newest().above;
  append(n, c, {v.value, v.by, now_, now_, always, above, v.id, false, v.update});
  if (n != memory)
    set_dirty(n, c, due, could_be, from);
}

void cache_machine::clear_dirty(node_id n, cell_id c) {
  place& p = nodes_[n].places[c];
  log_cache(n);
  p.is_dirty = false;
  p.due = 0;
  auto& dirty = dirty_of(n, c);
  dirty.erase(std::find(dirty.rbegin(), dirty.rend(), c).base() - 1); // a flush takes the last
  node_id* link = &cells_[c].first_holder;
  while (*link != n)
    link = &nodes_[*link].places[c].next_holder;
  *link = p.next_holder;
}

/// From when on a word counts as being where it comes now, which was stored at that time, or was at
/// the node: from now on; or from before the first release of an actor below that comes after it,
/// and has not taken place yet.
cache_machine::time cache_machine::arrival_of(node_id n, time stored) const {
  if (delaying_.empty() && late_fence_count_ == 0 && unseen_count_ == 0) [[likely]]
    return now_;
  time first = now_;
  for (actor const& a : actors_) {
    if (!a.has_release_to_come() || !is_under(a.path[0], n))
      continue;
    for (delayed_store const& d : a.delayed)
      if (d.since > stored)
        first = std::min(first, d.since - 1);
    for (unseen_release const& u : a.unseen)
      if (u.since > stored)
        first = std::min(first, u.since - 1);
    if (a.to_come.level != 0 && a.to_come.since > stored)
      first = std::min(first, a.to_come.since - 1);
  }
  return first;
}

/// The newest version at the parent may have come after the word that is dirty here.
bool cache_machine::may_be_behind(node_id n, cell_id c) const {
  place const& from = nodes_[n].places[c];
  n = nodes_[n].parent;
  place const& to = nodes_[n].places[c];
  if (to.count == 0 || newest(n, c).written <= from.dirty_since)
    return false;
  auto const lowest = nodes_[n].level;
  std::array<place const*, most_levels> way{&to};
  std::size_t count = 1;
  while (n != memory && has(nodes_[n].parent, c)) {
    n = nodes_[n].parent;
    way[count++] = &nodes_[n].places[c];
  }
  return late_word{from.dirty_since, from.due, from.given}.may_precede(
      {{way.data(), count}, lowest, left_out_}, 0, to.count - 1);
}

/// The newest version at the path's `level`, where the store is performed, may have come after it.
bool cache_machine::may_be_behind(actor const& a, delayed_store const& d, unsigned level) {
  set_way(a, d.at);
  place const& to = *way_[level];
  auto const due = nodes_[a.path[d.level]].level;
  return to.count != 0 &&
         late_word{d.since, due, way_[0]->given}.may_precede(way_of(a), level - 1U, to.count - 1);
}

/// The actor reads the version at the path's `level`, which may be dirty there or farther up: it
/// does not get behind what the actor has seen above, or must.
void cache_machine::keep_ahead(actor const& a, cell_id c, unsigned level, index which) {
  std::uint32_t const id = nodes_[a.path[level]].places[c][which].id;
  for (unsigned l = level; l < a.levels; ++l)
    if (has(a.path[l], c) && nodes_[a.path[l]].places[c].find_copy(id) != unknown)
      keep_ahead_at(a, c, l);
}

void cache_machine::keep_ahead_at(actor const& a, cell_id c, unsigned level) {
  place& p = nodes_[a.path[level]].places[c];
  if (!p.is_dirty)
    return;
  place const& leaf = touch(a.path[0], c);
  for (unsigned l = level + 1; l < a.levels; ++l) {
    auto const height = nodes_[a.path[l]].level;
    p.dirty_since = std::max(p.dirty_since, since(a.path[0], c)[height]);
    place const& above = touch(a.path[l], c);
    index const seen = leaf.seen[height];
    if ((leaf.has_seen >> height & 1) != 0 && above.remembers(seen))
      p.dirty_since = std::max(p.dirty_since, above[seen].written);
  }
}

/// A word that comes to the node level `due`, and could have since then, here from `from` on,
/// gets right before the version `which`: until that one has come farther up, where it must not be,
/// the other must not. What updates had overwritten before can be seen no longer.
void cache_machine::keep_together(node_id n, cell_id c, index which, std::uint8_t due, time since,
                                  time from) {
  std::uint32_t const id = nodes_[n].places[c][which].id;
  for (;;) {
    if (nodes_[n].places[c].lingering != 0 && which != 0) [[unlikely]]
      end_lingering(n, c, which - 1);
    if (n == memory || !has(nodes_[n].parent, c))
      break;
    which = nodes_[nodes_[n].parent].places[c].find_copy(id);
    if (which == unknown)
      break;
    n = nodes_[n].parent;
  }
  place& p = nodes_[n].places[c];
  if (!p.is_dirty)
    return;
  p.due = std::max(p.due, due);
  p.dirty_since = std::max(p.dirty_since, since);
  p.dirty_from = std::min(p.dirty_from, from);
}

/// The write is right in front of another one somewhere: what is not there yet does not get in
/// front of it.
void cache_machine::pin(cell_id c, std::uint32_t id) {
  for (node_id n = 0; n < node_count_; ++n)
    if (has(n, c))
      for (version& v : nodes_[n].places[c].ring)
        if (v.id == id)
          v.written = std::min<time>(v.written, 1);
}

/// The word goes to the parent: as its newest version or, if it may have been there before that
/// one was written, as one that has been overwritten since.
void cache_machine::write_back(node_id n, cell_id c, arrival how) {
  node_id const parent = nodes_[n].parent;
  place& to = touch(parent, c);
  place& from = nodes_[n].places[c];
  std::uint8_t const due = from.due;
  time const arrived = arrival_of(n, from.dirty_from);
  if (from.lingering != 0) [[unlikely]] // others hear of the updates by way of the parent
    end_lingering(n, c, from.count - 2);
  version const v = newest(n, c);
  bool const may_be = how != arrival::newest && may_be_behind(n, c);
  if (may_be && is_wide(c)) [[unlikely]]
    return write_back_words(n, c);
  bool const is_behind = may_be && comes_late(how);
  if (is_behind)
    keep_together(parent, c, to.count - 1, due, from.dirty_since, arrived);
  clear_dirty(n, c);
  tell_published(c);
  if (!is_behind) {
    come_to(parent, c, v, due, from.dirty_since, arrived);
    from.given = v.id;
  } else {
    pin(c, v.id);
  }
  index const which = to.count - 1;
  if (nodes_[n].is_leaf) {
    auto& seen = from.seen[nodes_[parent].level];
    seen = std::max(seen, which);
    from.has_seen = static_cast<std::uint8_t>(from.has_seen | 1U << nodes_[parent].level);
    return;
  }
  version& mine = from.newest();
  mine.above = is_behind ? which - 1 : which; // `unknown` if nothing came before
  if (is_behind) {
    mine.is_behind = 1;
    mine.due = due;
  }
  from.least = std::max(from.least, which);
}

void cache_machine::write_back_to(node_id n, cell_id c, node_id ancestor, arrival how) {
  for (; n != ancestor; n = nodes_[n].parent)
    if (nodes_[n].places[c].is_dirty)
      write_back(n, c, how);
}

} // namespace quarry::emu

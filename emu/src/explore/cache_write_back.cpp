// SPDX-License-Identifier: Apache-2.0
// How words of the cache machine reach the next cache, and in which order.
#include "cache_cells.hpp"

#include <algorithm>

namespace quarry::emu {

/// The newest version is not at the parent yet, but could have been since then.
void cache_machine::set_dirty(node_id n, cell_id c, std::uint8_t due, time since) {
  place& p = nodes_[n].places[c];
  p.due = std::max(p.due, due);
  p.dirty_since = since;
  if (p.is_dirty)
    return;
  p.is_dirty = true;
  dirty_of(n, c).push_back(c);
  node_id* link = &cells_[c].first_holder;
  while (*link != nobody)
    link = &nodes_[*link].places[c].next_holder;
  *link = n;
  p.next_holder = nobody;
}

void cache_machine::clear_dirty(node_id n, cell_id c) {
  place& p = nodes_[n].places[c];
  p.is_dirty = false;
  p.due = 0;
  auto& dirty = dirty_of(n, c);
  dirty.erase(std::find(dirty.rbegin(), dirty.rend(), c).base() - 1); // a flush takes the last
  node_id* link = &cells_[c].first_holder;
  while (*link != n)
    link = &nodes_[*link].places[c].next_holder;
  *link = p.next_holder;
}

/// When the write first came to the place that a copy of it goes to. By way of the cache above it
/// may come back there, but no later.
cache_machine::time cache_machine::arrival(place const& p, version const& copy) {
  for (index i = p.count > kept ? p.count - kept : 0; i < p.count; ++i)
    if (version const& v = p.ring[i % kept]; v.id == copy.id)
      return v.written;
  return copy.written;
}

/// Whether a word that has been dirty below since then may have been there before the version
/// `which` was written. It comes after what it saw there, and after the write `after`, which came
/// the same way. An update whose scope includes it, and the other way round, has read what stood
/// right before it.
bool cache_machine::may_follow(place const& p, index which, window const& w, std::uint32_t after) {
  for (index i = which + 1; i-- != 0 && i + kept >= p.count;) {
    version const& v = p.ring[i % kept];
    if (v.id == after || v.written <= w.written_since)
      return false;
    if (w.due < w.height || v.update < w.height)
      return true;
  }
  return false;
}

/// The newest version at the parent may have come after the word that is dirty here.
bool cache_machine::may_be_behind(node_id n, cell_id c) const {
  place const& from = nodes_[n].places[c];
  node_id const parent = nodes_[n].parent;
  place const& to = nodes_[parent].places[c];
  return to.count != 0 &&
         may_follow(to, to.count - 1,
                    {0, 0, always, from.dirty_since, from.due, nodes_[parent].level}, from.given);
}

/// The actor reads the word that may be dirty at the path's `level`: it does not get behind what
/// the actor has seen above, or must.
void cache_machine::keep_ahead(actor const& a, cell_id c, unsigned level) {
  place& p = nodes_[a.path[level]].places[c];
  if (!p.is_dirty)
    return;
  place const& leaf = touch(a.path[0], c);
  for (unsigned l = level + 1; l < a.levels; ++l) {
    auto const height = nodes_[a.path[l]].level;
    p.dirty_since = std::max(p.dirty_since, since(a.path[0], c)[height]);
    place const& above = touch(a.path[l], c);
    index const seen = leaf.seen[height];
    if ((leaf.has_seen >> height & 1) != 0 && seen < above.count && seen + kept >= above.count)
      p.dirty_since = std::max(p.dirty_since, above.ring[seen % kept].written);
  }
}

/// The word that is dirty in `front` gets right before the one that may be dirty here: where the
/// one must not be, the other must not.
void cache_machine::keep_together(node_id n, cell_id c, place const& front) {
  place& p = nodes_[n].places[c];
  if (!p.is_dirty)
    return;
  p.due = std::max(p.due, front.due);
  p.dirty_since = std::max(p.dirty_since, front.dirty_since);
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
void cache_machine::write_back(node_id n, cell_id c, bool may_be_late) {
  node_id const parent = nodes_[n].parent;
  place& to = touch(parent, c);
  place& from = nodes_[n].places[c];
  std::uint8_t const due = from.due;
  version const v = newest(n, c);
  bool const is_behind =
      may_be_late && may_be_behind(n, c) && choices_->pick(2, choice_kind::write_back) == 1;
  if (is_behind)
    keep_together(parent, c, from);
  clear_dirty(n, c);
  if (published_ != nullptr) [[unlikely]]
    published_->push_back(cells_[c].at);
  if (!is_behind) {
    index const above = to.count == 0 ? to.least : newest(parent, c).above;
    time const after = to.count == 0 ? 0 : newest(parent, c).written;
    append(parent, c, {v.value, v.by, now_, now_, always, above, v.id, v.update});
    if (parent != memory)
      set_dirty(parent, c, due, std::max(from.dirty_since, after));
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
  version& mine = from.ring[(from.count - 1) % kept];
  mine.above = is_behind && which != 0 ? which - 1 : which;
  from.least = std::max(from.least, which);
}

void cache_machine::write_back_to(node_id n, cell_id c, node_id ancestor) {
  for (; n != ancestor; n = nodes_[n].parent)
    if (nodes_[n].places[c].is_dirty)
      write_back(n, c, false);
}

} // namespace quarry::emu

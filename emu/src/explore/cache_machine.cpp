// SPDX-License-Identifier: Apache-2.0
// What the operations of an actor do to the caches; cache_choices.cpp has what a load may see,
// cache_reads.cpp what it takes of that.
#include "cache_cells.hpp"

#include <algorithm>
#include <utility>

namespace quarry::emu {

void cache_machine::initialise(std::uintptr_t at, unsigned bytes, std::uint64_t value) {
  unsigned step = 0;
  cell_id const c = find(at, bytes, step);
  place& p = touch(memory, c);
  p[0].value = value;
}

// Loads

inline cache_machine::reading cache_machine::load_cell(actor_id a, cell_id c,
                                                       std::optional<order> o, scope s,
                                                       predicate is_met, void* argument) {
  actor& self = actors_[a];
  unsigned const level = o && acquires(*o) ? level_in(self, s) : 0;
  if (o == order::seq_cst)
    drain(self, delayed_up_to_seq_cst(self));
  drain_cell(self, c);
  clean_below(self, c, level);
  reading const r = choose(a, c, level, sight_of(o), is_met, argument);
  perform_seen(self, taken_);
  if (o == order::seq_cst && !lingering_.empty()) [[unlikely]]
    see_in_seq_cst(self, c);
  if (is_met != nullptr && is_met(r.value, argument))
    self.in_vain.end(argument);
  if (level != 0 && is_news_to(self, level, released_by(taken_)))
    invalidate(self, level);
  return r;
}

cache_machine::reading cache_machine::load_if(actor_id a, std::uintptr_t at, unsigned bytes,
                                              std::optional<order> o, scope s, predicate is_met,
                                              void* argument) {
  unsigned step = 0;
  actors_[a].asked.is_met = nullptr;
  cell_id const first = find(at, bytes, step);
  if (step == bytes) {
    if (cells_[first].first_holder != nobody && (!o || !acquires(*o)) &&
        sees_only_own(actors_[a], first)) {
      version const& v = newest(actors_[a].path[0], first);
      return {v.value, v.by};
    }
    return load_cell(a, first, o, s, is_met, argument);
  }
  reading all{0, 0};
  takes_newest_ = o.has_value();
  for (unsigned done = 0; done < bytes; done += step) { // words of it, one after the other
    add_part(all, load_cell(a, first + done / step, o, s, nullptr, nullptr), done);
  }
  takes_newest_ = false;
  return all;
}

/// The part begins at byte `done` of all.
void cache_machine::add_part(reading& all, reading const& part, unsigned done) const {
  all.value |= part.value << (8 * done);
  all.by = tag_join_ == nullptr ? std::max(all.by, part.by)
                                : tag_join_(tag_join_argument_, all.by, part.by);
  all.is_stale |= part.is_stale;
  all.first_bytes = static_cast<std::uint8_t>(all.first_bytes | part.first_bytes << done);
}

bool cache_machine::could_load(actor_id a, std::uintptr_t at, unsigned bytes, order o, scope s,
                               predicate is_met, void* argument) {
  unsigned step = 0;
  cell_id const first = find(at, bytes, step);
  if (step != bytes)
    return is_met(load_if(a, at, bytes, o, s, nullptr, nullptr).value, argument);
  actor& self = actors_[a];
  unsigned const level = acquires(o) ? level_in(self, s) : 0;
  drain_cell(self, first);
  clean_below(self, first, level);
  question const wait = asks(first, level, is_met, argument);
  bool could = false;
  if (sees_only_newest(self, first, level, sight_of(o))) {
    could = is_met(newest(memory, first).value, argument);
  } else {
    collect(a, first, level, sight_of(o));
    bool const takes_chances = !self.in_vain.has(wait);
    could = std::any_of(candidates_.begin(), candidates_.end(), [&](candidate const& x) {
      return is_met(x.value, argument) && (takes_chances || !x.is_by_chance);
    });
  }
  self.asked = could ? question{} : wait;
  return could;
}

// Stores

inline void cache_machine::store_cell(actor_id a, cell_id c, std::uint64_t value,
                                      std::optional<order> o, scope s, write_tag by) {
  actor& self = actors_[a];
  unsigned const level = o ? level_in(self, s) : 0;
  if (o && releases(*o) && level != 0) {
    perform_own_unseen(self, c, level);
    if (self.delayed.size() == most_delayed) {
      leave_out();
      drain(self, 1);
    }
    bool const follows_seq_cst = o == order::seq_cst && delayed_up_to_seq_cst(self) != 0;
    if (self.delayed.empty())
      delaying_.insert(std::ranges::lower_bound(delaying_, a), a);
    self.delayed.push_back(
        {c, value, by, now_++, static_cast<std::uint8_t>(level), o == order::seq_cst});
    ++cells_[c].changes;
    log_path(self, level); // what is there now goes along
    // Who takes the one before puts this one after all that has come by then. Nobody is alone.
    if (follows_seq_cst && (actor_count_ == 1 || choices_->pick(2, choice_kind::write_back) == 0))
      drain(self, self.delayed.size());
    return;
  }
  drain_cell(self, c);
  perform_own_unseen(self, c, 0);
  node_id const leaf = self.path[0];
  place& p = touch(leaf, c);
  if (p.is_dirty) // the value before this one may have been written back in time
    if (unsigned const up_to = choices_->pick(self.levels, choice_kind::write_back); up_to != 0)
      write_back_to(leaf, c, self.path[up_to]);
  time const since = now_;
  append(leaf, c, {value, by, now_, now_, always, 0, ++last_write_, false, 0});
  note_release(self, c, false, {});
  set_dirty(leaf, c, level == 0 ? std::uint8_t{0} : nodes_[self.path[level]].level, since, since);
}

/// An atomic store of several words: none of them is delayed, nor comes late.
void cache_machine::store_together(actor_id a, std::uintptr_t at, unsigned bytes,
                                   std::uint64_t value, order o, scope s, write_tag by) {
  actor& self = actors_[a];
  unsigned const level = level_in(self, s);
  if (level != 0)
    leave_out();
  if (releases(o))
    release(self, level);
  unsigned step = 0;
  cell_id const first = find(at, bytes, step);
  for (unsigned done = 0; done < bytes; done += step) {
    cell_id const c = first + done / step;
    std::uint64_t const part = low_bytes(value >> (8 * done), step);
    if (level == 0) {
      store_cell(a, c, part, o, s, by);
      continue;
    }
    drain_cell(self, c);
    perform_own_unseen(self, c, 0);
    clean_below(self, c, level);
    perform_write(self, c, level, write_kind::store, part, by, now_);
    note_release(self, c, releases(o), {});
  }
}

void cache_machine::store(actor_id a, std::uintptr_t at, unsigned bytes, std::uint64_t value,
                          std::optional<order> o, scope s, write_tag by) {
  if (actors_[a].to_come.level != 0) [[unlikely]] // a release store comes later by itself
    take_late_fence(actors_[a], 0);
  unsigned step = 0;
  cell_id const first = find(at, bytes, step);
  if (o && step != bytes)
    return store_together(a, at, bytes, value, *o, s, by);
  for (unsigned done = 0; done < bytes; done += step) {
    store_cell(a, first + done / step, low_bytes(value >> (8 * done), step), o, s, by);
  }
}

void cache_machine::store_now(actor_id a, std::uintptr_t at, unsigned bytes, std::uint64_t value) {
  actor& self = actors_[a];
  unsigned const level = level_in(self, scope::system);
  release(self, level);
  invalidate(self, level);
  unsigned step = 0;
  cell_id const first = find(at, bytes, step);
  for (unsigned done = 0; done < bytes; done += step) {
    cell_id const c = first + done / step;
    clean_below(self, c, level);
    perform_write(self, c, level, write_kind::store, low_bytes(value >> (8 * done), step), 0, now_);
    note_release(self, c, true, {});
  }
}

/// The actor's copies below the level are written back; they are used no longer.
void cache_machine::clean_below(actor const& a, cell_id c, unsigned level) {
  for (unsigned l = 0; l < level; ++l)
    if (touch(a.path[l], c).is_dirty)
      write_back(a.path[l], c, arrival::chosen);
}

void cache_machine::perform_write(actor& a, cell_id c, unsigned level, write_kind kind,
                                  std::uint64_t value, write_tag by, time since, std::uint8_t due) {
  node_id const at = a.path[level];
  std::uint8_t const update = kind == write_kind::store ? 0 : nodes_[at].level;
  place& p = touch(at, c);
  bool const is_late = kind == write_kind::late_update;
  auto const lingering = is_late ? std::exchange(p.lingering, std::uint8_t{0}) : std::uint8_t{0};
  come_to(at, c, {value, by, now_, now_, always, unknown, ++last_write_, false, update},
          std::max(due, nodes_[at].level), since, arrival_of(at, since));
  if (is_late) {
    p.lingering = lingering;
    let_linger(at, c);
  }
  for (unsigned l = 0; l < level; ++l)
    touch(a.path[l], c).given = last_write_;
  copy_below(a, c, level, nodes_[at].places[c].count - 1, true);
}

/// The actor has seen the version at the path's `level`: the caches below, which others share, hold
/// nothing older from then on.
void cache_machine::copy_below(actor const& a, cell_id c, unsigned level, index which,
                               bool is_own) {
  see(a, c, level, which);
  version v = nodes_[a.path[level]].places[c][which];
  for (unsigned l = level; l-- > 1;) {
    bool const is_newest_above = which + 1 == nodes_[a.path[l + 1]].places[c].count;
    place& p = touch(a.path[l], c);
    index const before = p.find_copy(v.id); // by way of the cache above it may come back here
    bool const is_known = before != unknown;
    if (is_known && before + 1 == p.count) { // as if it had stayed
      p.newest().until = always;
      p.newest().above = which;
      make_live(a.path[l], c);
      if (!is_newest_above) // else there is nothing more to be seen: no wait is worth another look
        ++cells_[c].changes;
    } else {
      // An update at another cache of this level is no more than a store to those below here.
      bool const was_elsewhere = !is_known && v.update == nodes_[a.path[l]].level;
      append(a.path[l], c,
             {v.value, v.by, is_known ? p[before].written : v.written, now_, always, which, v.id,
              is_own || (is_known && p[before].came_through), was_elsewhere ? 0U : v.update});
    }
    which = p.count - 1;
    v = p[which];
    see(a, c, l, which);
  }
  ++now_;
}

// Read-modify-writes

cache_machine::reading cache_machine::begin_update(actor_id a, std::uintptr_t at, unsigned bytes,
                                                   order o, scope s) {
  actor& self = actors_[a];
  unsigned const level = level_in(self, s);
  unsigned step = 0;
  cell_id const first = find(at, bytes, step);
  bool const is_late = step == bytes && may_be_late(o);
  release_before_write(a, is_late ? std::nullopt : std::optional(o), s);
  if (o == order::seq_cst)
    invalidate(self, level);
  reading all{0, 0};
  takes_newest_ = step != bytes;
  taken_of_ = {};
  for (unsigned done = 0; done < bytes; done += step) {
    cell_id const c = first + done / step;
    drain_cell(self, c);
    if (step != bytes) // one after the other
      perform_all_unseen(c);
    else
      perform_own_unseen(self, c, is_late && releases(o) ? level : 0);
    clean_below(self, c, level);
    add_part(all, choose(a, c, level, sight::newest, nullptr, nullptr), done);
    taken_of_ = join(taken_of_, released_by(taken_));
  }
  takes_newest_ = false;
  if (acquires(o) && releases(o) && !is_late) // also what it has just acquired
    flush(self, level);
  return all;
}

void cache_machine::finish_update(actor_id a, std::uintptr_t at, unsigned bytes, order o, scope s,
                                  std::uint64_t value, write_tag by) {
  actor& self = actors_[a];
  unsigned const level = level_in(self, s);
  if (level == 0) {
    store(a, at, bytes, value, std::nullopt, s, by);
    return;
  }
  unsigned step = 0;
  cell_id const first = find(at, bytes, step);
  bool const is_late = step == bytes && may_be_late(o);
  bool const leaves_out = !is_late && may_be_late(o);
  if (is_late && releases(o))
    release_when_seen(self, first, level);
  auto const kind = is_late ? write_kind::late_update : write_kind::update;
  for (unsigned done = 0; done < bytes; done += step) {
    cell_id const c = first + done / step;
    perform_write(self, c, level, kind, low_bytes(value >> (8 * done), step), by, now_);
    note_release(self, c, releases(o), taken_of_);
    if (place& p = nodes_[self.path[level]].places[c]; leaves_out)
      p.lost = p.count - 1;
  }
}

void cache_machine::end_update(actor_id a, order o, scope s) {
  actor const& self = actors_[a];
  unsigned const level = level_in(self, s);
  bool const may_bring = o == order::seq_cst && unseen_count_ != 0;
  perform_seen(self, taken_); // not before the write, which comes right after what was read
  if (may_bring)              // what has been acquired is released as well
    flush(self, level);
  auto const taken = join(taken_of_, released_by(taken_)); // it may have taken place just now
  if (acquires(o) && (o == order::seq_cst || is_news_to(self, level, taken)))
    invalidate(self, level);
}

void cache_machine::fence(actor_id a, order o, scope s) {
  actor& self = actors_[a];
  unsigned const level = level_in(self, s);
  if (level == 0) // of what nobody else is in
    return;
  if (o == order::acq_rel) { // what it releases need not be there before loads that come after it
    release_later(a, s);
    return invalidate(self, level);
  }
  synchronise(a, o, s);
  self.has_fenced |= releases(o);
}

void cache_machine::synchronise(actor_id a, order o, scope s) {
  actor& self = actors_[a];
  unsigned const level = level_in(self, s);
  if (o == order::seq_cst)
    end_seen_in_seq_cst();
  if (releases(o))
    release(self, level);
  if (acquires(o))
    invalidate(self, level);
}

void cache_machine::release_later(actor_id a, scope s) {
  actor& self = actors_[a];
  unsigned const level = level_in(self, s);
  if (level == 0)
    return;
  if (self.to_come.level == 0)
    ++late_fence_count_;
  // Both count, of which one is kept: what was stored between them goes farther than it must.
  self.to_come = {std::max(static_cast<std::uint8_t>(level), self.to_come.level), now_++};
  self.has_fenced = true;
  log_path(self, level); // what is there now goes along
}

void cache_machine::release_before_write(actor_id a, std::optional<order> o, scope s) {
  actor& self = actors_[a];
  unsigned const level = o && releases(*o) ? level_in(self, s) : 0;
  if (self.to_come.level != 0) [[unlikely]]
    take_late_fence(self, level);
  if (level != 0)
    release(self, level);
}

/// The actor's fence that was to come takes place before a write, which goes to the level at least.
void cache_machine::take_late_fence(actor& self, unsigned level) {
  late_fence const now = self.to_come;
  while (!self.delayed.empty())
    perform_oldest(self, arrival::chosen, std::max<unsigned>(level, now.level));
  flush(self, now.level, now.since); // while it is still to come, see arrival_of()
  end_late_fence(self);
  forget_unseen(self, now.level, always);
}

void cache_machine::perform_delayed(actor_id a) {
  drain(actors_[a], actors_[a].delayed.size());
}

void cache_machine::perform_seq_cst(actor_id a) {
  drain(actors_[a], delayed_up_to_seq_cst(actors_[a]));
}

void cache_machine::kernel_boundary(actor_id a, order o) {
  synchronise(a, o, scope::system);
  actor const& self = actors_[a];
  if (releases(o))
    for (node_id n = self.path[0]; n != memory; n = nodes_[n].parent)
      while (!nodes_[n].held.empty())
        write_back(n, nodes_[n].held.back(), arrival::chosen);
  if (acquires(o) && !coarse_.is_empty())
    invalidate(self, level_in(self, scope::system), words::all);
}

// Release and acquire

/// All that the actor has stored is at the path's `level`, or beyond: a store that goes farther is
/// there as one that is on its way, unless it is seq_cst.
inline void cache_machine::release(actor& a, unsigned level) {
  if (level == 0)
    return;
  while (!a.delayed.empty())
    perform_oldest(a, arrival::chosen, level);
  if (a.to_come.level != 0 && a.to_come.level <= level) // a wider fence is still to come
    end_late_fence(a);
  flush(a, level);
  forget_unseen(a, level, always);
}

/// What the caches below the level hold, and was stored before then, is there.
void cache_machine::flush(actor const& a, unsigned level, time before) {
  log_path(a, level);
  if (!open_.empty()) [[unlikely]]
    empty_open(a, level, true, before);
  for (unsigned l = 0; l < level; ++l) {
    node const& n = nodes_[a.path[l]];
    for (std::size_t i = n.dirty.size(); i-- != 0;) // what it writes back is in the list no more
      if (cell_id const c = n.dirty[i]; n.places[c].dirty_from < before)
        write_back(a.path[l], c, arrival::chosen);
  }
  if (!lingering_.empty()) [[unlikely]]
    publish_updates(a, level, before);
}

void cache_machine::invalidate(actor const& a, unsigned level, words which) {
  if (!open_.empty()) [[unlikely]]
    empty_open(a, level, false);
  if (!lingering_.empty()) [[unlikely]]
    empty_lingering(a, level, which);
  for (unsigned l = level; l-- != 0;) {
    node& n = nodes_[a.path[l]];
    node const& parent = nodes_[n.parent];
    n.since = parent.since; // what it holds from now on, its parent may have held for long
    n.since[parent.level] = now_;
    bool const keeps_coarse = n.level == l2_level && which != words::all;
    if (!keeps_coarse) {
      n.coarse_since = parent.coarse_since;
      n.coarse_since[parent.level] = now_;
    }
    if (n.is_leaf)
      continue;
    std::erase_if(n.live, [&](cell_id c) {
      place& p = n.places[c];
      if (!p.is_live) // of a word that was dropped
        return true;
      if (p.is_dirty || (keeps_coarse && cells_[c].is_coarse))
        return false;
      p.newest().until = std::min(p.newest().until, now_);
      p.is_live = false;
      return true;
    });
  }
  ++now_;
}

/// A seq_cst store of the actor was there after that time: those that are still delayed come after
/// it.
void cache_machine::put_after(actor& a, time at) noexcept {
  for (delayed_store& later : a.delayed)
    if (later.is_seq_cst)
      later.since = std::max(later.since, at);
}

/// Performs the oldest of the actor's delayed stores, after all that was stored before it: as the
/// newest version there or, if it may have been there before that one was written, as one that has
/// been overwritten since.
///
/// Not beyond the path's level `farthest`, unless it is seq_cst; what was stored before it is there
/// where it goes in the end.
void cache_machine::perform_oldest(actor& a, arrival how, unsigned farthest) {
  delayed_store const d = a.delayed.front();
  unsigned const level = d.is_seq_cst ? d.level : std::min<unsigned>(d.level, farthest);
  std::uint8_t const due = nodes_[a.path[d.level]].level;
  log_cache(a.path[0]);
  flush(a, d.level, d.since); // while it is still to come, see arrival_of()
  clean_below(a, d.at, level);
  a.delayed.erase(a.delayed.begin());
  if (a.delayed.empty())
    std::erase(delaying_, static_cast<actor_id>(&a - actors_.data()));
  for (unseen_release& u : a.unseen)
    u.delayed -= u.delayed == 0 ? 0 : 1;
  forget_unseen(a, d.level, d.since);
  if (how == arrival::newest || !may_be_behind(a, d, level) || !comes_late(how)) {
    if (d.is_seq_cst)
      put_after(a, now_);
    perform_write(a, d.at, level, write_kind::store, d.value, d.by, d.since, due);
    note_release(a, d.at, true, {});
    return;
  }
  node_id const n = a.path[level];
  index const which = touch(n, d.at).count - 1;
  if (d.is_seq_cst) // the next one may be right before the same version, too
    put_after(a, newest(n, d.at).written - 1);
  touch(a.path[0], d.at).has_released = true;
  keep_together(n, d.at, which, due, d.since, arrival_of(n, d.since));
  copy_below(a, d.at, level, which, false);
}

} // namespace quarry::emu

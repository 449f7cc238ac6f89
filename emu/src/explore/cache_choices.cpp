// SPDX-License-Identifier: Apache-2.0
// What a load of the cache machine may see.
#include "cache_cells.hpp"

#include <algorithm>
#include <utility>

namespace quarry::emu {
namespace {

using place = cache_place;
using version = cache_place::version;
using index = cache_place::index;
using time = cache_place::time;

/// An update has read what is right before it: goes back from `which` past those at that height,
/// but not past the write `id`.
index before_updates(place const& p, index which, std::uint8_t height, std::uint32_t id) {
  while (p[which].update == height && which > p.oldest() && p[which - 1].id != id)
    --which;
  return which;
}

/// The word that was overwritten on the way, of those that have been so, once it has passed `p`.
void pass(std::optional<late_word>& overwritten, place const& p) {
  if (p.is_dirty)
    overwritten = overwritten ? late_word{std::max(overwritten->since, p.dirty_since),
                                          std::max(overwritten->due, p.due), p.given}
                              : late_word{p.dirty_since, p.due, p.given};
}

/// Until when the place was empty, or held what was there at `begun`, which has seen `least`, for
/// one that may have fetched past it `before` that time: 0 if it did not. See pass_early().
time empty_until(place const& p, time begun, std::optional<index> least, time before,
                 bool* left_out) {
  index first = p.oldest(); // that was there since
  while (first < p.count && p[first].until <= begun)
    ++first;
  bool const is_known = !least || (*least < first && p.remembers(*least));
  // One that had not gone up then was overwritten by what stands above: nothing was empty.
  bool const was_full = (first < p.count && p[first].from <= begun) ||
                        (first != p.oldest() && p[first - 1].id != 0 && p[first - 1].written <= 1);
  bool const is_forgotten = first != 0 && first == p.oldest();
  if (before != 0 && is_known && !was_full && is_forgotten && left_out != nullptr) [[unlikely]]
    *left_out = true;
  if (!is_known || was_full || is_forgotten)
    return 0;
  return first < p.count ? std::min(before, p[first].from) : before;
}

} // namespace

bool cache_machine::is_under(node_id n, node_id ancestor) const noexcept {
  for (; n != memory; n = nodes_[n].parent)
    if (n == ancestor)
      return true;
  return ancestor == memory;
}

// What a load may see

/// Older than what the actor has seen above, when it fetched early, or than what those had who have
/// released to it, or than what was there when it last emptied its caches; or, if `before`, so is
/// what comes right before it.
bool cache_machine::is_outdated(actor const& a, cell_id c, unsigned level, version const& v,
                                bool before) const {
  version const* copy = &v;
  unsigned due = 0; // of what comes before
  for (unsigned l = level + 1; l < a.levels; ++l) {
    place const& above = *way_[l];
    index which = copy->above + copy->is_behind;
    if (copy->is_behind != 0 ? !above.remembers(which) : !above.is_origin_of(*copy))
      return false;
    auto const height = nodes_[a.path[l]].level;
    if (copy->is_behind != 0) {
      before = true;
      due = copy->due;
    }
    if (due >= height)
      which = before_updates(above, which, height, v.id);
    if (before && above[which].from <= since(a.path[0], c)[height])
      return true;
    index const next = which + (before ? 0 : 1);
    bool const has_seen = (way_[0]->has_seen >> height & 1) != 0;
    index const least = least_released(a, c, l);
    if ((has_seen && next <= way_[0]->seen[height]) || (least != 0 && next <= least))
      return true;
    copy = &above[which];
  }
  return false;
}

/// Of the versions at the path's `level`, the first that is not older than what the actor has seen
/// above: they are in coherence order.
inline cache_machine::index cache_machine::first_current(actor const& a, cell_id c,
                                                         unsigned level) const {
  place const& p = *way_[level];
  for (index i = p.count; i-- > p.oldest();) {
    if (is_outdated(a, c, level, p[i], false))
      return i + 1;
    if (is_outdated(a, c, level, p[i], true))
      return i;
  }
  return p.oldest();
}

/// Versions at the path's `level`, oldest first: those that the cache below may have fetched, and
/// those that only the actor's own may, when it fetched early.
inline void cache_machine::collect_versions(actor const& a, cell_id c, unsigned level,
                                            window const* shared, window const* own) {
  place const& p = *way_[level];
  auto const holds = [&](window const* w, index i, version const& v) {
    return w != nullptr && i >= w->first && v.until > w->since && v.from < w->before &&
           (!w->overwritten || w->overwritten->may_precede(way_of(a), level - 1U, i));
  };
  auto const has_lost = [&p](window const* w) {
    return w != nullptr && p.oldest() > w->first && p[p.oldest()].from > w->since;
  };
  bool const was_passed = std::any_of(way_.begin() + 1, way_.begin() + a.levels,
                                      [](place const* on) { return on->passed_at != 0; });
  if (left_out_ != nullptr && (has_lost(shared) || has_lost(own))) [[unlikely]]
    *left_out_ = true;
  index const known =
      was_passed ? std::max(way_[0]->seen[nodes_[a.path[level]].level], least_released(a, c, level))
                 : 0;
  for (index i = std::max(first_current(a, c, level), known); i < p.count; ++i) {
    version const& v = p[i];
    bool const is_shared = holds(shared, i, v);
    if (is_shared || holds(own, i, v))
      candidates_.push_back({candidate::kind::version, static_cast<std::uint8_t>(level), !is_shared,
                             is_shared && shared->overwritten, i, v.value});
  }
}

/// Words on their way to the path's `level` from elsewhere.
inline void cache_machine::collect_arrivals(actor_id a, cell_id c, unsigned level, bool is_lowest) {
  if (cells_[c].first_holder != nobody)
    collect_holders(a, c, level, is_lowest);
  if (!delaying_.empty())
    collect_delayed(a, c, level, is_lowest);
}

void cache_machine::collect_holders(actor_id a, cell_id c, unsigned level, bool is_lowest) {
  actor const& self = actors_[a];
  node_id const n = self.path[level];
  node_id const below = is_lowest ? nobody : self.path[level - 1];
  for (node_id h = cells_[c].first_holder; h != nobody; h = nodes_[h].places[c].next_holder) {
    if (level_at(self, h) != self.levels || !is_under(h, n) ||
        (below != nobody && is_under(h, below)))
      continue;
    auto const due = nodes_[h].places[c].due;
    candidates_.push_back({candidate::kind::write_back, static_cast<std::uint8_t>(level), false,
                           false, h, newest(h, c).value, due != 0 && due < nodes_[n].level});
  }
}

void cache_machine::collect_delayed(actor_id a, cell_id c, unsigned level, bool is_lowest) {
  node_id const n = actors_[a].path[level];
  node_id const below = is_lowest ? nobody : actors_[a].path[level - 1];
  for (actor_id const other : delaying_) {
    actor const& b = actors_[other];
    if (other == a)
      continue;
    std::size_t const count = delayed_up_to(b, c);
    if (count == 0)
      continue;
    delayed_store const& last = b.delayed[count - 1];
    node_id const target = b.path[last.level];
    bool const is_beyond = target != n;
    if (is_beyond && (!is_under(target, n) || (below != nobody && is_under(target, below))))
      continue;
    candidates_.push_back({candidate::kind::delayed, static_cast<std::uint8_t>(level), false, false,
                           other, last.value, is_beyond});
  }
}

/// Everything that a load of the actor may see, the newest first: what is on its way, which comes
/// after all that is there; what a fetch brings now; what one has brought early. Then what comes
/// from above although a word on the way is not there yet. `lowest` 0: in its own cache, where the
/// word is not dirty; else at that level, exactly.
void cache_machine::collect(actor_id a, cell_id c, unsigned lowest, sight s) {
  actor const& self = actors_[a];
  candidates_.clear();
  set_way(self, c);
  place const& p = *way_[lowest];
  if (lowest != 0 && (p.lingering | p.lost) != 0 && s != sight::newest)
    collect_lingering(self, c, lowest, s);
  if (lowest == 0 ? p.is_dirty : p.count != 0)
    if (version const& v = p.newest();
        lowest == 0 || (v.until == always && !is_outdated(self, c, lowest, v, false)))
      candidates_.push_back({candidate::kind::version, static_cast<std::uint8_t>(lowest), false,
                             false, p.count - 1, v.value});
  if (lowest != 0)
    collect_arrivals(a, c, lowest, true);
  collect_above(a, c, lowest);
  if (candidates_.size() < 2)
    return;
  put_newest_first();
}

/// Candidates that were collected from the oldest on.
inline void cache_machine::put_newest_first() {
  std::reverse(candidates_.begin(), candidates_.end());
  auto const rank = [](candidate const& x) {
    return x.is_late ? 3 : x.is_private ? 2 : x.how == candidate::kind::version ? 1 : 0;
  };
  // Few, and mostly in order: an insertion sort, which keeps the order of those that rank alike.
  for (auto i = candidates_.begin() + 1; i != candidates_.end(); ++i)
    for (auto j = i; j != candidates_.begin() && rank(*j) < rank(*(j - 1)); --j)
      std::iter_swap(j, j - 1);
}

/// Of the versions at the path's `level`, the first that the cache below may fetch now. For a load
/// in a leaf it is none older than that one has seen.
inline cache_machine::index cache_machine::first_to_fetch(actor const& a, unsigned level,
                                                          bool is_leaf) const {
  index const seen = is_leaf ? way_[0]->seen[nodes_[a.path[level]].level] : 0;
  place const& below = *way_[level - 1];
  if (level == 1)
    return seen;
  if (below.count == 0)
    return std::max(seen, below.least);
  version const& last = below.newest();
  if (last.until == always || last.above == unknown)
    return std::max(seen, last.above + 1);
  return std::max({seen, below.least, last.above}); // that one may be fetched again
}

/// A leaf that has fetched past caches which held nothing goes past `n`, too: to what stands above
/// since it could hold what `n` held, until something came there. Notes in `left_out`, if that is
/// not null, that nobody remembers.
void cache_machine::pass_early(early_fetch& by, node_id leaf, node_id n, cell_id c,
                               bool* left_out) const {
  if (n == memory)
    return; // nothing stands above
  place const& p = nodes_[n].places[c];
  auto const height = nodes_[n].level;
  time const begun = since(leaf, c)[height];
  if (p.passed_at != 0 && begun >= p.passed_at)
    for (unsigned l = height + 1U; l < most_levels; ++l)
      by.floor[l] = std::max(by.floor[l], p.passed[l]);
  if (p.count == 0)
    return by.least.reset();
  if (has(leaf, c) && (nodes_[leaf].places[c].has_seen >> height & 1) != 0)
    by.least = std::max(by.least.value_or(0), nodes_[leaf].places[c].seen[height]);
  by.before = empty_until(p, begun, by.least, by.before, left_out);
  if (!by.least || !p.remembers(*by.least))
    return by.least.reset();
  version const& seen = p[*by.least];
  if (seen.above == unknown && seen.is_behind == 0) {
    by.before = 0;
    return by.least.reset();
  }
  node_id const up = nodes_[n].parent;
  bool const is_copy = has(up, c) && nodes_[up].places[c].is_origin_of(seen);
  by.least = seen.above + (is_copy ? 0 : 1); // nothing older than what it has seen here
}

/// What lies above the path's level `lowest`, which the caches there may hold a copy of.
inline void cache_machine::collect_above(actor_id a, cell_id c, unsigned lowest) {
  actor const& self = actors_[a];
  node_id const leaf = self.path[0];
  place const& own = *way_[0];
  bool const may_arrive = cells_[c].first_holder != nobody || !delaying_.empty();
  // By a fetch now, if no cache on the way holds a word that is not at its parent yet; or that word
  // was written back, and then overwritten by one that was written since.
  std::optional<late_word> overwritten;
  pass(overwritten, *way_[lowest]);
  // Or by a fetch before the caches on the way held anything.
  early_fetch early{lowest == 0 && !own.is_dirty ? always : 0, std::nullopt};
  for (unsigned l = lowest + 1; l < self.levels; ++l) {
    place const& p = *way_[l];
    node_id const lower = self.path[l - 1];
    node_id const upper = self.path[l];
    if (p.count == 0 && !may_arrive) {
      if (p.passed_at != 0 && early.before != 0) [[unlikely]]
        pass_early(early, leaf, upper, c, left_out_);
      continue;
    }
    auto const level = nodes_[upper].level;
    window const shared{first_to_fetch(self, l, lowest == 0), since(lower, c)[level], always,
                        overwritten};
    window const alone{std::max({own.seen[level], early.least.value_or(0), early.floor[level]}),
                       since(leaf, c)[level], early.before, std::nullopt};
    collect_versions(self, c, l, &shared, early.before != 0 ? &alone : nullptr);
    std::size_t const before = candidates_.size();
    collect_arrivals(a, c, l, false);
    for (std::size_t i = before; i < candidates_.size(); ++i)
      candidates_[i].is_late = overwritten.has_value();
    pass(overwritten, p);
    if (early.before != 0)
      pass_early(early, leaf, upper, c, left_out_);
  }
}

/// The word is dirty in the actor's own cache, and no other that was written since is on its way
/// there: what collect() would find, without a choice.
bool cache_machine::sees_only_own(actor const& a, cell_id c) const {
  if (!delaying_.empty() || !has(a.path[0], c) || !nodes_[a.path[0]].places[c].is_dirty)
    return false;
  time const since = nodes_[a.path[0]].places[c].dirty_since;
  unsigned dirty = 1;
  for (unsigned l = 1; l < a.levels; ++l) {
    if (!has(a.path[l], c))
      return false;
    place const& p = nodes_[a.path[l]].places[c];
    if (p.count != 0 && p.latest >= since)
      return false;
    dirty += p.is_dirty ? 1 : 0;
  }
  for (node_id h = cells_[c].first_holder; h != nobody; h = nodes_[h].places[c].next_holder)
    if (dirty-- == 0)
      return false; // somebody else's, too
  return true;
}

/// The word is nowhere dirty, nor on its way, and what collect() would find is memory's newest
/// version. Only for what is quickly told: at memory, and of a cache right above it.
bool cache_machine::sees_only_newest(actor const& a, cell_id c, unsigned lowest, sight s) {
  if (cells_[c].first_holder != nobody || !delaying_.empty() ||
      (a.levels > lowest + 1U && a.levels != 2))
    return false;
  place const& leaf = touch(a.path[0], c);
  for (unsigned l = 1; l < lowest; ++l)
    touch(a.path[l], c);
  place const& p = touch(memory, c);
  if ((p.lingering | p.lost) != 0 && s != sight::newest) [[unlikely]]
    return false;
  if (a.levels == lowest + 1U || p.count < 2 || leaf.seen[nodes_[memory].level] + 1 >= p.count)
    return true;
  // The one before it was overwritten before the cache was last emptied; so were all others.
  return p[p.count - 2].until <= since(a.path[0], c)[nodes_[memory].level];
}

} // namespace quarry::emu

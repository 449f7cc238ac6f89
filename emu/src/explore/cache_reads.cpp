// SPDX-License-Identifier: Apache-2.0
// What a load of the cache machine takes, of what it may see.
#include "cache_cells.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace quarry::emu {
namespace {

/// Whether a write right behind the candidate could stand between what an update has read and what
/// that has written: one performed below, whose word comes up behind what has come meanwhile; or
/// one farther up, where the candidate has come late.
bool may_part_update(cache_way way, cache_place const& leaf, cache_candidate const& x) {
  if (x.how != cache_candidate::kind::version || x.level == 0 || leaf.is_dirty)
    return true;
  std::size_t at = x.level - 1U;
  if (std::ranges::any_of(way.places.first(at), [](auto const* p) { return p->is_dirty; }))
    return true;
  for (cache_place::index which = x.which;; ++at) {
    cache_place const& p = *way.places[at];
    for (auto later = which + 1; later < p.count; ++later)
      if (p[later].update != 0 && p[later].update != way.level(at))
        return true;
    if (at + 1 == way.places.size())
      return false;
    cache_place::version const& v = p[which];
    cache_place const& above = *way.places[at + 1];
    bool const is_newest_there = above.count != 0 && v.above + 1 == above.count;
    if (v.is_behind != 0 || (!above.is_origin_of(v) && !is_newest_there))
      return true;
    which = v.above;
  }
}

} // namespace

/// Of the candidates of a load that ends a wait: the newest, in any case, for late words are still
/// to come; but once. Others, if they end it; what comes by chance only together with the newest.
/// Where the newest would end it, and is the actor's own, also one by which that may have been
/// overwritten.
inline void cache_machine::keep_what_ends(actor const& a, question const& wait) {
  auto sure = candidates_.begin(); // the end of those that come for sure, in their order
  for (auto i = candidates_.begin(); i != candidates_.end(); ++i)
    if (!i->is_by_chance)
      std::rotate(sure++, i, i + 1);
  auto const ends = [&](candidate const& x) { return wait.is_met(x.value, wait.argument); };
  bool offers_late = ends(candidates_.front()) && !a.in_vain.has(wait); // one that ends it not
  auto const others =
      std::remove_if(candidates_.begin() + 1, candidates_.end(), [&](candidate const& x) {
        return !ends(x) && !(x.is_late && std::exchange(offers_late, false));
      });
  candidates_.erase(others, candidates_.end());
  if (candidates_.size() == 1 || !a.in_vain.has(wait))
    return;
  if (candidates_[1].is_by_chance)
    candidates_.resize(1);
  else
    candidates_.erase(candidates_.begin());
}

/// Of what ends a wait, and may have been there before what is the newest now, also that: the wait
/// goes on then. Without a wait, of everything: whoever has seen something older before may go on
/// looking, and whoever does not finds the word later.
void cache_machine::offer_overwritten(actor const& a, cell_id c, unsigned lowest,
                                      question const& wait) {
  for (std::size_t i = 0, end = candidates_.size(); i != end; ++i) {
    candidate x = candidates_[i];
    if (wait.is_met != nullptr && !wait.is_met(x.value, wait.argument))
      continue;
    node_id const at = a.path[x.level];
    if (x.how == candidate::kind::delayed) {
      actor const& other = actors_[x.which];
      delayed_store const& d = other.delayed[delayed_up_to(other, c) - 1];
      x.is_overwritten =
          x.is_late || (other.path[d.level] == at && may_be_behind(other, d, d.level));
    } else if (x.how == candidate::kind::write_back) {
      x.is_overwritten = x.is_late || (nodes_[x.which].parent == at && may_be_behind(x.which, c));
    } else {
      x.is_overwritten = x.is_late && lowest == 0;
    }
    if (x.is_overwritten)
      candidates_.push_back(x);
  }
}

/// What was chosen is performed, and overwritten: by what was there, or by what is dirty on the
/// way.
cache_machine::reading cache_machine::take_overwritten(actor_id a, cell_id c, unsigned lowest,
                                                       candidate const& chosen) {
  actor const& self = actors_[a];
  node_id const at = self.path[chosen.level];
  if (chosen.how == candidate::kind::delayed) {
    actor& other = actors_[chosen.which];
    std::size_t const count = delayed_up_to(other, c);
    drain(other, count - 1);
    perform_oldest(other, chosen.is_late ? arrival::newest : arrival::late);
  } else if (chosen.how == candidate::kind::write_back) {
    if (chosen.is_late)
      write_back_to(chosen.which, c, at);
    else
      write_back(chosen.which, c, arrival::late);
  }
  if (chosen.is_late)
    for (unsigned l = lowest; l < chosen.level; ++l)
      write_back_to(self.path[l], c, at);
  collect(a, c, lowest, sight::newest);
  candidate const newest = candidates_.front();
  return take(a, c, lowest, newest);
}

cache_machine::reading cache_machine::choose(actor_id a, cell_id c, unsigned lowest, sight s,
                                             predicate is_met, void* argument) {
  actor& self = actors_[a];
  if (sees_only_newest(self, c, lowest, s))
    return take_newest(self, c);
  collect(a, c, lowest, s);
  bool const has_newer = candidates_.size() > 1;
  std::uint64_t const freshest = candidates_.front().value;
  question const wait = asks(c, lowest, is_met, argument);
  if (is_met != nullptr)
    keep_what_ends(self, wait);
  if (is_met != nullptr || touch(self.path[0], c).stale_in_a_row != 0) // or a loop, perhaps
    offer_overwritten(self, c, lowest, wait);
  auto const n = static_cast<unsigned>(candidates_.size());
  bool const had_enough = touch(self.path[0], c).stale_in_a_row == place::most_stale_in_a_row;
  bool const must_be_new = had_enough || takes_newest_;
  if (must_be_new && n > 1) [[unlikely]]
    leave_out();
  candidate const chosen =
      candidates_[n == 1 || must_be_new ? 0 : choices_->pick(n, choice_kind::value)];
  reading r =
      chosen.is_overwritten ? take_overwritten(a, c, lowest, chosen) : take(a, c, lowest, chosen);
  r.is_stale = has_newer && !chosen.is_overwritten && r.value != freshest;
  if (is_met != nullptr && n > 1)
    self.in_vain.note(asks(c, lowest, is_met, argument));
  auto& in_a_row = touch(self.path[0], c).stale_in_a_row;
  in_a_row = r.is_stale ? static_cast<std::uint8_t>(in_a_row + 1) : 0;
  return r;
}

/// A load in the actor's own cache, unless there is a choice.
std::optional<cache_machine::reading> cache_machine::see_only_one(actor_id a, cell_id c) {
  actor const& self = actors_[a];
  if (sees_only_newest(self, c, 0, sight::lingering))
    return take_newest(self, c);
  collect(a, c, 0, sight::lingering);
  if (candidates_.size() != 1)
    return std::nullopt;
  candidate const only = candidates_.front();
  return take(a, c, 0, only);
}

/// The actor has seen the version at the path's `level`, and with it what that one comes after.
void cache_machine::see(actor const& a, cell_id c, unsigned level, index which) {
  place& leaf = touch(a.path[0], c);
  for (unsigned l = level;; ++l) {
    auto const height = nodes_[a.path[l]].level;
    leaf.seen[height] = std::max(leaf.seen[height], which);
    leaf.has_seen = static_cast<std::uint8_t>(leaf.has_seen | 1U << height);
    place const& p = touch(a.path[l], c);
    if (l + 1U == a.levels || !p.remembers(which))
      return;
    which = p[which].above;
    if (which == unknown)
      return;
  }
}

/// What first_bytes is of a word that nobody has written.
inline std::uint8_t cache_machine::all_bytes(cell_id c) const {
  return static_cast<std::uint8_t>(0xff >> (8 - std::min<unsigned>(cells_[c].bytes, 8)));
}

/// Memory's newest version, where nothing of the word is dirty.
inline cache_machine::reading cache_machine::take_newest(actor const& a, cell_id c) {
  place const& p = nodes_[memory].places[c];
  version const v = p.newest();
  taken_ = v.id;
  if (a.levels == 2) { // no cache on the way
    place& leaf = nodes_[a.path[0]].places[c];
    leaf.seen[memory_level] = p.count - 1;
    leaf.has_seen |= 1U << memory_level;
    ++now_;
  } else {
    copy_below(a, c, a.levels - 1U, p.count - 1, false);
  }
  return {v.value, v.by, false, v.written == 0 ? all_bytes(c) : std::uint8_t{0}};
}

/// The word that is dirty at the path's level `l` was written back, and overwritten by the version
/// that stands at the path's `level`: right before that one's copy, which comes, or is there.
void cache_machine::overwrite_by(actor const& a, cell_id c, unsigned l, unsigned level,
                                 index which) {
  node_id const at = a.path[level];
  version const& by = nodes_[at].places[c][which];
  place& p = nodes_[a.path[l]].places[c];
  keep_together(at, c, which, p.due, p.dirty_since, arrival_of(a.path[l], p.dirty_from));
  version& late = p.newest();
  pin(c, late.id);
  late.until = std::min(late.until, by.from);
  if (l != 0) {
    place const& above = nodes_[a.path[l + 1]].places[c];
    index copy = which;
    if (l + 1 != level) {
      index const known = above.find_copy(by.id);
      copy = known != unknown && known + 1 == above.count ? known : above.count;
    }
    late.above = copy - 1; // `unknown` if nothing came before
    late.is_behind = 1;
    late.due = p.due;
  }
  clear_dirty(a.path[l], c);
}

/// The actor's own cache had fetched the version at the path's `level` past those below.
void cache_machine::pass_by(actor const& a, cell_id c, unsigned level, index which) {
  auto const height = nodes_[a.path[level]].level;
  for (unsigned l = 1; l < level; ++l) {
    place& past = touch(a.path[l], c);
    past.passed[height] = std::max(past.passed[height], which);
    if (past.passed_at == 0)
      past.passed_at = now_;
    if (l + 1 == level)
      past.least = std::max(past.least, which);
  }
}

inline cache_machine::reading cache_machine::take(actor_id a, cell_id c, unsigned lowest,
                                                  candidate const& chosen) {
  actor const& self = actors_[a];
  unsigned const level = chosen.level;
  if (level == 0) {
    keep_ahead(self, c, 0, nodes_[self.path[0]].places[c].count - 1);
    version const& v = newest(self.path[0], c);
    taken_ = v.id;
    return {v.value, v.by};
  }
  node_id const at = self.path[level];
  index which = chosen.which;
  if (chosen.how == candidate::kind::write_back) {
    write_back_to(chosen.which, c, at);
  } else if (chosen.how == candidate::kind::delayed) {
    actor& other = actors_[chosen.which];
    std::size_t const count = delayed_up_to(other, c);
    node_id const target = other.path[other.delayed[count - 1].level];
    drain(other, count - 1);
    perform_oldest(other, arrival::newest);
    write_back_to(target, c, at);
  }
  if (chosen.how != candidate::kind::version)
    which = nodes_[at].places[c].count - 1;
  if (chosen.is_late)
    for (unsigned l = lowest; l < level; ++l)
      if (nodes_[self.path[l]].places[c].is_dirty)
        overwrite_by(self, c, l, level, which);
  keep_ahead(self, c, level, which);
  version const v = nodes_[at].places[c][which];
  taken_ = v.id;
  if (chosen.is_private) {
    see(self, c, level, which);
    pass_by(self, c, level, which);
    ++now_;
    auto const passed = std::span(self.path).first(lowest).subspan(lowest == 0 ? 0 : 1);
    if (std::ranges::any_of(passed, [&](node_id n) { return has(n, c); }))
      invalidate(self, lowest); // what an acquire has passed may be older
  } else {
    copy_below(self, c, level, which, false);
  }
  return {v.value, v.by, false, v.written == 0 ? all_bytes(c) : std::uint8_t{0}};
}

/// A compare-exchange that fails is a load. An update that writes the value which it has read, an
/// exchange of a flag that is down by one that puts it down, stands right behind that, and before
/// whatever else was written since: to everybody it is a load, too, but for who acquires what it
/// releases. So it may read whatever a load may; not where it is a release itself, or as strong as
/// a fence. Nothing: it reads the newest value.
std::optional<cache_machine::reading> cache_machine::read_unchanged(actor_id a, std::uintptr_t at,
                                                                    unsigned bytes, order o,
                                                                    scope s, desire f,
                                                                    void const* function) {
  actor& self = actors_[a];
  unsigned step = 0;
  cell_id const c = find(at, bytes, step);
  unsigned const level = acquires(o) ? level_in(self, s) : 0;
  if (o == order::seq_cst || step != bytes || sees_only_newest(self, c, level, sight::lingering) ||
      touch(self.path[0], c).stale_in_a_row == place::most_stale_in_a_row)
    return std::nullopt;
  drain_cell(self, c);
  clean_below(self, c, level);
  collect(a, c, level, sight::lingering);
  bool const is_release = releases(o) || self.has_fenced || self.to_come.level != 0 ||
                          touch(self.path[0], c).has_released;
  auto const changes = [&](candidate const& x) {
    auto const desired = f(x.value, function);
    return desired &&
           (is_release || *desired != x.value || may_part_update(way_of(self), *way_[0], x));
  };
  candidates_.erase(std::remove_if(candidates_.begin() + 1, candidates_.end(), changes),
                    candidates_.end());
  if (candidates_.size() == 1)
    return std::nullopt;
  auto const n = static_cast<unsigned>(candidates_.size());
  unsigned const chosen = choices_->pick(n, choice_kind::value);
  if (chosen == 0)
    return std::nullopt;
  candidate const x = candidates_[chosen];
  std::uint64_t const freshest = candidates_.front().value;
  reading r = take(a, c, level, x);
  r.is_stale = r.value != freshest;
  ++touch(self.path[0], c).stale_in_a_row;
  perform_seen(self, taken_);
  if (level != 0 && is_news_to(self, level, released_by(taken_)))
    invalidate(self, level);
  return r;
}

} // namespace quarry::emu

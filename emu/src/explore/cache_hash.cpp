// SPDX-License-Identifier: Apache-2.0
// What the cache machine's state is: times count only as far as they decide what may come.
#include "cache_cells.hpp"

#include <algorithm>
#include <span>

namespace quarry::emu {
namespace {

using place = cache_place;
using index = cache_place::index;
using time = cache_place::time;

/// What a leaf may fetch there as it did before that time, from `least` on, and from `floor`.
void mix_early(std::uint64_t& h, place const& p, time before, std::optional<index> least,
               index floor) {
  index first = p.oldest();
  while (first < p.count && p[first].from < before)
    ++first;
  mix(h, std::uint64_t{p.count} - first);
  mix(h, least ? std::uint64_t{p.count} - std::min(p.count, *least) : place::always);
  mix(h, std::uint64_t{p.count} - std::min(p.count, floor));
}

/// The same where nothing is known of the word: in memory its first value, and what is yet to come.
void mix_early_of_none(std::uint64_t& h, time before, std::optional<index> least, index floor) {
  mix(h, before == 0 ? 0 : before == place::always ? 2 : 1);
  mix(h, least ? *least : place::always);
  mix(h, floor);
}

/// Which of the versions from `first` on were there together with the next one, and whether that
/// came after `begun`. One that lingers tells nothing of those after it.
void mix_overlaps(std::uint64_t& h, place const& p, index first, time begun) {
  for (index i = first; i + 1 < p.count; ++i)
    if (p[i].until > p[i + 1].from)
      mix(h, p[i + 1].from > begun ? 3 : 2);
}

/// How the version stands to the one of the parent that it is a copy of, or comes after.
void mix_origin(std::uint64_t& h, cache_place::version const& v, place const* above) {
  mix(h, std::uint64_t{above == nullptr ? 0 : above->count} - v.above);
  bool const is_copy = above != nullptr && above->is_origin_of(v);
  mix(h, is_copy ? 1U : v.is_behind != 0 ? 2U + v.due : 0U);
}

} // namespace

std::uint64_t cache_machine::hash() const {
  std::uint64_t h = 0; // whatever the order in which the cells were first reached
  std::vector<index> oldest(node_count_);
  for (cell const& c : cells_)
    if (c.bytes != 0) {
      unsigned const size = is_wide(c.id) ? wide_[c.outside].element : c.bytes;
      for (unsigned offset = 0; offset < c.bytes; offset += size)
        h += hash_of({c.id, offset, size}, oldest);
    }
  for (std::uint32_t const w : open_)
    mix_undecided(h, wide_[w]);
  mix_lingering(h);
  for (actor const& a : actors_) {
    mix(h, a.delayed.size());
    mix(h, 2U * a.to_come.level + unsigned{a.has_fenced});
    mix_unseen(h, a);
    for (delayed_store const& d : a.delayed) {
      mix(h, cells_[d.at].at);
      mix(h, d.value);
      mix(h, 2U * d.level + unsigned{d.is_seq_cst});
      mix_later(h, a.path[0], d.at, d.since);
    }
  }
  return h;
}

/// `oldest`: room for an index for each node.
std::uint64_t cache_machine::hash_of(part of, std::vector<index>& oldest) const {
  std::uint64_t h = 0;
  cell const& c = cells_[of.of];
  mix(h, c.at + of.offset);
  for (node_id n = 0; n < node_count_; ++n)
    oldest[n] = has(n, c.id) ? nodes_[n].places[c.id].count : 0;
  for (node_id n = 1; n < node_count_; ++n) {
    early_fetch early{nodes_[n].is_leaf ? always : 0, std::nullopt};
    for (node_id up = nodes_[n].parent;; up = nodes_[up].parent) {
      oldest[up] = std::min(oldest[up], mix_view(h, n, up, c.id, early));
      if (up == memory)
        break;
    }
  }
  for (node_id n = 0; n < node_count_; ++n)
    if (has(n, c.id))
      mix_place(h, n, of, oldest[n]);
  return h;
}

/// Which of the values have been written back is not decided: nobody has looked at the line since.
void cache_machine::mix_undecided(std::uint64_t& h, wide_line const& w) const {
  mix(h, cells_[w.cell].at);
  mix(h, w.writer);
  auto const mix_value = [&](std::uint64_t value) {
    for (unsigned i = 0; i < line_bytes; i += 8)
      mix(h, values_.word(static_cast<line_values::id>(value), i, 8));
  };
  mix_value(w.before.newest().value);
  for (wide_line::overwriting const& o : w.undecided)
    mix_value(o.value);
  for (wide_line::emptying const& e : w.meanwhile) {
    mix(h, 2U * e.node + (e.is_flush ? 1U : 0U));
    for (time const t : {e.at, e.before})
      mix(h, static_cast<std::uint64_t>(
                 std::count_if(w.undecided.begin(), w.undecided.end(),
                               [t](wide_line::overwriting const& o) { return o.at < t; })));
    mix(h, w.before.dirty_from < e.before ? 1U : 0U);
  }
}

/// What the node may still fetch of the versions at an ancestor. Gives the first of them.
cache_machine::index cache_machine::mix_view(std::uint64_t& h, node_id n, node_id up, cell_id c,
                                             early_fetch& early) const {
  std::uint8_t const level = nodes_[up].level;
  time const begun = since(n, c)[level];
  index first = 0;
  if (nodes_[n].is_leaf && has(n, c)) {
    place const& leaf = nodes_[n].places[c];
    first = leaf.seen[level];
    mix(h, 2U * leaf.has_seen + (leaf.stale_in_a_row != 0 ? 1U : 0U)); // see choose()
  }
  index count = 0;
  if (has(up, c) && nodes_[up].places[c].count != 0) {
    place const& p = nodes_[up].places[c];
    count = p.count;
    if (nodes_[n].is_leaf) {
      mix_early(h, p, early.before, early.least, early.floor[level]);
      pass_early(early, n, up, c, nullptr);
    }
    first = std::max(first, p.oldest());
    while (first < count && p[first].until <= begun)
      ++first;
    mix_overlaps(h, p, first, begun);
  } else if (nodes_[n].is_leaf) {
    mix_early_of_none(h, early.before, early.least, early.floor[level]);
    if (has(up, c))
      pass_early(early, n, up, c, nullptr);
  }
  mix(h, std::uint64_t{count} - first + (std::uint64_t{n} << 32 | up));
  return first;
}

/// The versions of a word at a node from `oldest` on, which somebody may still fetch.
void cache_machine::mix_place(std::uint64_t& h, node_id n, part of, index oldest) const {
  cell_id const c = of.of;
  place const& p = nodes_[n].places[c];
  bool const is_leaf = nodes_[n].is_leaf;
  mix(h,
      (std::uint64_t{n} << 8) | (p.has_released ? 128U : 0U) | (p.is_dirty ? 2U * p.due + 1U : 0U));
  if (p.is_dirty)
    mix_dirty(h, n, c);
  else if (is_leaf)
    return;
  bool const has_copies = !is_leaf && n != memory; // of what is above
  node_id const up = nodes_[n].parent;
  place const* const above = has_copies && has(up, c) ? &nodes_[up].places[c] : nullptr;
  if (has_copies)
    mix_passed(h, n, c);
  index const last = p.count == 0 ? 0 : p.count - 1;
  for (index i = std::max(is_leaf ? last : std::min(oldest, last), p.oldest()); i < p.count; ++i) {
    version const& v = p[i];
    mix(h, is_wide(c) ? values_.word(static_cast<line_values::id>(v.value), of.offset, of.bytes)
                      : v.value);
    mix(h, v.by);
    if (released const r = released_by(v.id); r.by != nobody)
      mix_released(h, r);
    mix(h, 4U * v.update + 2U * v.came_through + unsigned{v.until == always});
    if (has_copies)
      mix_origin(h, v, above);
  }
}

/// What the node's next fetch takes at least, and what leaves have fetched past it.
void cache_machine::mix_passed(std::uint64_t& h, node_id n, cell_id c) const {
  place const& p = nodes_[n].places[c];
  auto const count_at = [&](node_id up) { return has(up, c) ? nodes_[up].places[c].count : 0; };
  index const above = count_at(nodes_[n].parent);
  mix(h, std::uint64_t{above} - std::min(p.least, above));
  if (p.passed_at == 0)
    return;
  for (node_id from = n; from != memory;) {
    from = nodes_[from].parent;
    index const there = count_at(from);
    mix(h, std::uint64_t{there} - std::min(p.passed[nodes_[from].level], there));
  }
  for (actor const& a : std::span(actors_).first(actor_count_)) // who knows, also of what comes yet
    if (is_under(a.path[0], n))
      mix(h, since(a.path[0], c)[nodes_[n].level] >= p.passed_at ? 1 : 0);
}

/// Where a word that is dirty may get behind others, and which releases that are to come take it
/// along: when it was written, or came, decides, and what those have seen above who may yet read
/// it.
void cache_machine::mix_dirty(std::uint64_t& h, node_id n, cell_id c) const {
  place const& p = nodes_[n].places[c];
  bool const may_be_late = has(nodes_[n].parent, c) && may_be_behind(n, c);
  mix(h, may_be_late ? 3 : 2);
  mix_later(h, may_be_late ? n : nodes_[n].parent, c, p.dirty_since);
  for (actor const& a : std::span(actors_).first(actor_count_)) {
    node_id const leaf = a.path[0];
    if (!is_under(leaf, n))
      continue;
    if (time const since = ahead_of(leaf, n, c); since > p.dirty_since) {
      mix(h, leaf);
      mix_later(h, n, c, since);
    }
    if (a.has_release_to_come())
      mix(h, releases_after(a, p.dirty_from));
  }
}

/// Whoever reads there, from that leaf on, has seen above what was written up to then: see
/// keep_ahead().
cache_machine::time cache_machine::ahead_of(node_id leaf, node_id n, cell_id c) const {
  time latest = 0;
  while (n != memory) {
    n = nodes_[n].parent;
    auto const height = nodes_[n].level;
    latest = std::max(latest, since(leaf, c)[height]);
    if (!has(leaf, c) || !has(n, c) || (nodes_[leaf].places[c].has_seen >> height & 1) == 0)
      continue;
    place const& above = nodes_[n].places[c];
    if (index const seen = nodes_[leaf].places[c].seen[height]; above.remembers(seen))
      latest = std::max(latest, above[seen].written);
  }
  return latest;
}

/// Which of the actor's releases that are to come are later than that.
std::uint64_t cache_machine::releases_after(actor const& a, time t) noexcept {
  std::uint64_t later = t < a.to_come.since ? 3 : 2;
  for (delayed_store const& d : a.delayed)
    later = 2 * later + (t < d.since ? 1 : 0);
  for (unseen_release const& u : a.unseen)
    later = 2 * later + (t < u.since ? 1 : 0);
  return later;
}

/// Which versions above the node were written after that.
void cache_machine::mix_later(std::uint64_t& h, node_id n, cell_id c, time since) const {
  while (n != memory) {
    n = nodes_[n].parent;
    if (!has(n, c))
      continue;
    place const& p = nodes_[n].places[c];
    std::uint64_t later = 1;
    for (index i = p.oldest(); i < p.count; ++i)
      later = 2 * later + (p[i].written > since ? 1 : 0);
    mix(h, later);
  }
}

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
// The words of the cache machine, and how they all come to rest.
#include "cache_cells.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace quarry::emu {

cache_machine::place& cache_machine::touch_first(node_id n, cell_id c) {
  place& p = nodes_[n].places.reach(c, cells_.size());
  p.execution = execution_;
  p.count = p.least = p.given = p.dirty_since = p.latest = 0;
  p.is_dirty = p.is_live = p.has_released = false;
  p.due = p.has_seen = p.stale_in_a_row = p.lingering = 0;
  p.lost = 0;
  p.seen = p.passed = {};
  p.passed_at = 0;
  if (n == memory && is_wide(c)) {
    p[0] = {0, 0, 0, 0, always, 0, 0, false, 0};
    p.count = 1;
    first_values(cells_[c], p);
  } else if (n == memory) {
    std::uint64_t const value =
        first_value_ == nullptr
            ? 0
            : first_value_(cells_[c].at, cells_[c].bytes, first_value_argument_);
    cells_[c].outside = value;
    p[0] = {value, 0, 0, 0, always, 0, 0, false, 0};
    p.count = 1;
  }
  return p;
}

// Cells

cache_machine::cell_id cache_machine::new_cell(std::uintptr_t at, unsigned bytes) {
  auto const id = static_cast<cell_id>(cells_.size());
  cells_.push_back({at, id, static_cast<std::uint8_t>(bytes), coarse_.contain(at)});
  return id;
}

/// A word that nobody has reached yet, or whose cells are too large.
cache_machine::cell_id cache_machine::find_first(line& l, std::uintptr_t at, unsigned bytes,
                                                 unsigned& step) {
  std::size_t const word = at / 8 % line_words;
  if (l.wide != line::not_wide) {
    narrow(wide_[l.wide].cell);
  } else if (l.word_bytes[word] == 0) {
    l.first[word] = static_cast<cell_id>(cells_.size());
    l.word_bytes[word] = static_cast<std::uint8_t>(bytes);
    std::uintptr_t const begin = at / 8 * 8;
    for (unsigned offset = 0; offset < 8; offset += bytes)
      new_cell(begin + offset, bytes);
  } else {
    split(at / 8, bytes);
  }
  return find(at, bytes, step);
}

/// Atomic stores come to the level of their scope: in parts they could be seen there one by one.
/// Each is the newest there, or right before the newest; that they, and updates, are there at once
/// leaves something out.
void cache_machine::complete_atomics(cell_id c) {
  bool are_there = false;
  for (actor& a : actors_) {
    are_there = are_there || delayed_up_to(a, c) != 0;
    drain_cell(a, c);
  }
  are_there |= perform_all_unseen(c);
  for (node_id n = 0; n < node_count_; ++n) {
    if (!has(n, c) || !nodes_[n].places[c].is_dirty)
      continue;
    node_id target = n;
    while (nodes_[target].level < nodes_[n].places[c].due)
      target = nodes_[target].parent;
    are_there = are_there || target != n;
    write_back_to(n, c, target, arrival::chosen);
  }
  are_there = are_there || std::any_of(lingering_.begin(), lingering_.end(),
                                       [c](lingering_version const& v) { return v.of == c; });
  end_lingering(c);
  if (are_there)
    leave_out();
}

/// Cells of a word become smaller, with what is known of the larger ones.
void cache_machine::split(std::uintptr_t word, unsigned bytes) {
  cell_id const old_first = lines_[word / line_words].first[word % line_words];
  unsigned const old_bytes = lines_[word / line_words].word_bytes[word % line_words];
  for (unsigned offset = 0; offset < 8; offset += old_bytes)
    complete_atomics(old_first + offset / old_bytes); // lines may move
  line& l = lines_[word / line_words];
  auto const first = static_cast<cell_id>(cells_.size());
  for (unsigned offset = 0; offset < 8; offset += bytes)
    copy_part(old_first + offset / old_bytes, new_cell(word * 8 + offset, bytes),
              8 * (offset % old_bytes));
  for (unsigned offset = 0; offset < 8; offset += old_bytes) {
    cell& gone = cells_[old_first + offset / old_bytes];
    for (node_id n = 0; n < node_count_; ++n)
      std::erase(dirty_of(n, gone.id), gone.id);
    gone.bytes = 0;
    gone.first_holder = nobody;
  }
  l.first[word % line_words] = first;
  l.word_bytes[word % line_words] = static_cast<std::uint8_t>(bytes);
}

/// The part of the old cell that begins at that bit is the new one.
void cache_machine::copy_part(cell_id from, cell_id to, unsigned bit) {
  unsigned const bytes = cells_[to].bytes;
  for (node_id n = 0; n < node_count_; ++n) {
    if (!has(n, from))
      continue;
    touch(n, to);
    place& copy = nodes_[n].places[to];
    copy = nodes_[n].places[from];
    for (version& v : copy.ring)
      v.value = low_bytes(v.value >> bit, bytes);
    if (copy.is_dirty)
      dirty_of(n, to).push_back(to);
    if (copy.is_live)
      nodes_[n].live.push_back(to);
  }
  cells_[to].first_holder = cells_[from].first_holder; // the links are in the places
  if (has(memory, from)) // not what host memory holds now: the caller may not know of that yet
    cells_[to].outside = low_bytes(cells_[from].outside >> bit, bytes);
}

void cache_machine::coarsen(std::uintptr_t begin, std::size_t bytes) {
  for (std::size_t i = 0; i < wide_count_; ++i) // a neighbour's, too
    if (cell const& c = cells_[wide_[i].cell];
        c.bytes != 0 && c.at < begin + bytes && begin < c.at + line_bytes)
      narrow(c.id);
  coarse_.add(begin, bytes);
  for (cell_id const c : cells_about(begin, bytes)) // that a neighbour's access has made
    if (cells_[c].at - begin < bytes)
      cells_[c].is_coarse = true;
}

/// Has anybody reached it, if only with a store that is delayed?
bool cache_machine::is_in_use(cell_id c) const {
  for (node_id n = 0; n < node_count_; ++n)
    if (has(n, c))
      return true;
  return std::ranges::any_of(delaying_,
                             [&](actor_id a) { return delayed_up_to(actors_[a], c) != 0; });
}

unsigned cache_machine::width(std::uintptr_t at) const noexcept {
  for (cell const& c : cells_)
    if (c.bytes != 0 && at - c.at < c.bytes)
      return is_wide(c.id) ? wide_[c.outside].element : c.bytes;
  return 0;
}

/// With its word, of which nothing else is left.
void cache_machine::drop(cell_id c) {
  lines_[cells_[c].at / line_bytes].word_bytes[cells_[c].at / 8 % line_words] = 0;
  cells_[c].bytes = 0;
}

/// Other cells of the word may be somebody else's, and in use: it stays then, and nobody has
/// reached this cell.
void cache_machine::drop_beside(cell_id c) {
  for (node_id n = 0; n < node_count_; ++n)
    if (has(n, c))
      nodes_[n].places[c].execution = 0;
  cells_[c].is_coarse = false;
  ++cells_[c].changes;
  line const& l = lines_[cells_[c].at / line_bytes];
  std::size_t const word = cells_[c].at / 8 % line_words;
  cell_id const first = l.first[word], end = first + 8U / l.word_bytes[word];
  for (cell_id other = first; other != end; ++other)
    if (is_in_use(other))
      return;
  for (cell_id other = first; other != end; ++other)
    drop(other);
}

/// Those that somebody has reached, with all of their lines, in the order of their numbers. Until
/// it is asked again.
std::span<cache_machine::cell_id const> cache_machine::cells_about(std::uintptr_t begin,
                                                                   std::size_t bytes) {
  std::vector<cell_id>& those = cells_about_;
  those.clear();
  std::uintptr_t const end_line = (begin + bytes + line_bytes - 1) / line_bytes;
  lines_.for_each(begin / line_bytes, end_line, [&](line const& l) {
    if (l.wide != line::not_wide)
      return those.push_back(wide_[l.wide].cell);
    for (std::size_t word = 0; word < line_words; ++word)
      if (unsigned const size = l.word_bytes[word]; size != 0)
        for (unsigned offset = 0; offset < 8; offset += size)
          those.push_back(l.first[word] + offset / size);
  });
  std::ranges::sort(those);
  return those;
}

void cache_machine::forget(std::uintptr_t begin, std::size_t bytes, gone_word const& f) {
  decide_all();
  auto const first_new = static_cast<cell_id>(cells_.size());
  // The last one first, which mostly stands last in the lists of what is dirty.
  for (cell_id const c : std::ranges::reverse_view(cells_about(begin, bytes)))
    forget_cell(c, begin, bytes, f);
  for (auto c = static_cast<cell_id>(cells_.size()); c-- != first_new;) // of lines come apart
    forget_cell(c, begin, bytes, f);
  coarse_.remove(begin);
}

/// If any of it is in the range.
void cache_machine::forget_cell(cell_id c, std::uintptr_t begin, std::size_t bytes,
                                gone_word const& f) {
  cell const gone = cells_[c]; // a copy: a line that comes apart makes new ones
  if (gone.bytes == 0 || gone.at >= begin + bytes || gone.at + gone.bytes <= begin)
    return;
  if (is_wide(c))
    return forget_line(c, begin, bytes, f);
  if (gone.at < begin)
    return;
  finish_cell(c);
  if (has(memory, c) && nodes_[memory].places[c].count > 1)
    f(gone.at, gone.bytes, newest(memory, c).value);
  std::uintptr_t const word = gone.at / 8 * 8;
  if (word >= begin && word + 8 - begin <= bytes)
    drop(c);
  else
    drop_beside(c);
}

void cache_machine::for_each_word(known_word const& f) {
  decide_all();
  for (cell& c : cells_)
    if (c.bytes != 0 && has(memory, c.id)) {
      if (is_wide(c.id))
        for_each_word_of(c.id, f);
      else
        f(c.at, c.bytes, newest(memory, c.id).value, c.outside);
    }
}

// The end

bool cache_machine::settle() {
  bool any = !delaying_.empty();
  for (actor& a : actors_)
    drain(a, a.delayed.size());
  for (std::uint8_t level = 0; level < memory_level; ++level)
    for (node_id n = 0; n < node_count_; ++n) {
      if (nodes_[n].level != level)
        continue;
      std::vector<cell_id> const dirty = nodes_[n].dirty;
      for (cell_id const c : dirty)
        if (nodes_[n].places[c].due > level) {
          write_back(n, c, arrival::chosen);
          any = true;
        }
    }
  return any;
}

void cache_machine::finish() {
  decide_all();
  while (!delaying_.empty()) {
    auto const n = static_cast<unsigned>(delaying_.size());
    drain(actors_[delaying_[n == 1 ? 0 : choices_->pick(n, choice_kind::write_back)]], 1);
  }
  for (std::uint8_t level = 0; level < memory_level; ++level)
    for (node_id n = 0; n < node_count_; ++n)
      for (auto const dirty : {&node::dirty, &node::held})
        while (nodes_[n].level == level && !(nodes_[n].*dirty).empty())
          write_back(n, (nodes_[n].*dirty).back(), arrival::chosen);
}

/// Everything on its way to the cell reaches memory.
void cache_machine::finish_cell(cell_id c) {
  end_lingering(c);
  drop_unseen(c);
  for (std::size_t i = 0; i < delaying_.size();) {
    actor_id const a = delaying_[i];
    drain_cell(actors_[a], c);
    i += i < delaying_.size() && delaying_[i] == a ? 1 : 0; // it may have none any more
  }
  while (cells_[c].first_holder != nobody) {
    node_id lowest = cells_[c].first_holder;
    for (node_id h = lowest; h != nobody; h = nodes_[h].places[c].next_holder)
      if (nodes_[h].level < nodes_[lowest].level)
        lowest = h;
    write_back(lowest, c, arrival::chosen);
  }
}

cache_machine::reading cache_machine::final_value(std::uintptr_t at, unsigned bytes) {
  unsigned step = 0;
  cell_id const first = find(at, bytes, step);
  reading all{0, 0};
  for (unsigned done = 0; done < bytes; done += step) {
    touch(memory, first + done / step);
    version const& v = newest(memory, first + done / step);
    all.value |= v.value << (8 * done);
    all.by = std::max(all.by, v.by);
  }
  return all;
}

} // namespace quarry::emu

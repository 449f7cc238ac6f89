// SPDX-License-Identifier: Apache-2.0
// The words of the cache machine, how they all come to rest, and what its state is.
#include "cache_cells.hpp"

#include <algorithm>
#include <utility>

namespace quarry::emu {

cache_machine::place& cache_machine::touch_first(node_id n, cell_id c) {
  node& at = nodes_[n];
  if (at.place_count <= c) {
    at.places.resize(std::max<std::size_t>(cells_.size(), c + 1));
    at.place_count = static_cast<cell_id>(at.places.size());
  }
  place& p = at.places[c];
  p.execution = execution_;
  p.count = p.least = p.given = p.dirty_since = p.latest = 0;
  p.is_dirty = false;
  p.due = p.has_seen = 0;
  p.seen = {};
  if (!at.is_leaf)
    at.touched.push_back(c);
  if (n == memory) {
    std::uint64_t const value =
        first_value_ == nullptr
            ? 0
            : first_value_(cells_[c].at, cells_[c].bytes, first_value_argument_);
    cells_[c].outside = value;
    p.ring[0] = {value, 0, 0, 0, always, 0, 0, 0};
    p.count = 1;
  }
  return p;
}

// Lines

/// Where it is, or would be.
cache_machine::line& cache_machine::place_of(std::uintptr_t number) noexcept {
  for (std::size_t i = number * 0x9e37'79b9'7f4a'7c15 >> 32;; ++i) {
    line& l = lines_[i & (lines_.size() - 1)];
    if (l.execution != execution_ || l.number == number)
      return l;
  }
}

cache_machine::line& cache_machine::reach(std::uintptr_t number) {
  if (2 * lines_in_use_ >= lines_.size())
    grow_lines();
  line& l = place_of(number);
  if (l.execution != execution_) {
    l.number = number;
    l.execution = execution_;
    l.bytes = {};
    ++lines_in_use_;
  }
  last_line_ = &l;
  return l;
}

void cache_machine::grow_lines() {
  std::vector<line> const old =
      std::exchange(lines_, std::vector<line>(std::max<std::size_t>(64, 2 * lines_.size())));
  for (line const& l : old)
    if (l.execution == execution_)
      place_of(l.number) = l;
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
  if (l.bytes[word] == 0) {
    l.first[word] = static_cast<cell_id>(cells_.size());
    l.bytes[word] = static_cast<std::uint8_t>(bytes);
    std::uintptr_t const begin = at / 8 * 8;
    for (unsigned offset = 0; offset < 8; offset += bytes)
      new_cell(begin + offset, bytes);
  } else {
    split(l, at / 8, bytes);
  }
  return find(at, bytes, step);
}

/// Cells of a word become smaller, with what is known of the larger ones.
void cache_machine::split(line& l, std::uintptr_t word, unsigned bytes) {
  cell_id const old_first = l.first[word % line_words];
  unsigned const old_bytes = l.bytes[word % line_words];
  auto const first = static_cast<cell_id>(cells_.size());
  std::uint64_t const mask = (std::uint64_t{1} << (8 * bytes)) - 1;
  for (unsigned offset = 0; offset < 8; offset += bytes) {
    cell_id const from = old_first + offset / old_bytes;
    unsigned const shift = 8 * (offset % old_bytes);
    cell_id const to = new_cell(word * 8 + offset, bytes);
    for (node_id n = 0; n < node_count_; ++n) {
      if (!has(n, from))
        continue;
      touch(n, to);
      place& copy = nodes_[n].places[to];
      copy = nodes_[n].places[from];
      for (version& v : copy.ring)
        v.value = v.value >> shift & mask;
      if (copy.is_dirty)
        dirty_of(n, to).push_back(to);
    }
    cells_[to].first_holder = cells_[from].first_holder; // the links are in the places
    if (has(memory, from)) // not what host memory holds now: the caller may not know of that yet
      cells_[to].outside = cells_[from].outside >> shift & mask;
  }
  for (unsigned offset = 0; offset < 8; offset += old_bytes) {
    cell& gone = cells_[old_first + offset / old_bytes];
    for (node_id n = 0; n < node_count_; ++n)
      std::erase(dirty_of(n, gone.id), gone.id);
    for (actor& a : actors_) // a delayed store of the whole: of its parts, one after the other
      for (std::size_t i = 0; i < a.delayed.size(); ++i) {
        if (a.delayed[i].at != gone.id)
          continue;
        delayed_store const whole = a.delayed[i];
        a.delayed.erase(a.delayed.begin() + static_cast<std::ptrdiff_t>(i));
        --delayed_count_;
        for (unsigned part = 0; part < old_bytes; part += bytes, ++i, ++delayed_count_)
          a.delayed.insert(a.delayed.begin() + static_cast<std::ptrdiff_t>(i),
                           {first + (offset + part) / bytes, whole.value >> (8 * part) & mask,
                            whole.by, whole.level});
        --i;
      }
    gone.bytes = 0;
    gone.first_holder = nobody;
  }
  l.first[word % line_words] = first;
  l.bytes[word % line_words] = static_cast<std::uint8_t>(bytes);
}

void cache_machine::coarsen(std::uintptr_t begin, std::size_t bytes) {
  coarse_.add(begin, bytes);
  for (cell& c : cells_) // one that a neighbour's access has made
    if (c.bytes != 0 && c.at - begin < bytes)
      c.is_coarse = true;
}

/// Has anybody reached it, if only with a store that is delayed?
bool cache_machine::is_in_use(cell_id c) const {
  for (node_id n = 0; n < node_count_; ++n)
    if (has(n, c))
      return true;
  auto const is_to_it = [c](delayed_store const& d) { return d.at == c; };
  return delayed_count_ != 0 && std::any_of(actors_.begin(), actors_.end(), [&](actor const& a) {
           return std::any_of(a.delayed.begin(), a.delayed.end(), is_to_it);
         });
}

/// With its word, of which nothing else is left.
void cache_machine::drop(cell_id c) {
  reach(cells_[c].at / line_bytes).bytes[cells_[c].at / 8 % line_words] = 0;
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
  line const& l = reach(cells_[c].at / line_bytes);
  std::size_t const word = cells_[c].at / 8 % line_words;
  cell_id const first = l.first[word], end = first + 8U / l.bytes[word];
  for (cell_id other = first; other != end; ++other)
    if (is_in_use(other))
      return;
  for (cell_id other = first; other != end; ++other)
    drop(other);
}

// The end

bool cache_machine::settle() {
  bool any = delayed_count_ != 0;
  for (actor& a : actors_)
    drain(a, a.delayed.size());
  for (std::uint8_t level = 0; level < memory_level; ++level)
    for (node_id n = 0; n < node_count_; ++n) {
      if (nodes_[n].level != level)
        continue;
      std::vector<cell_id> const dirty = nodes_[n].dirty;
      for (cell_id const c : dirty)
        if (nodes_[n].places[c].due > level) {
          write_back(n, c, true);
          any = true;
        }
    }
  return any;
}

void cache_machine::finish() {
  while (delayed_count_ != 0) {
    std::vector<actor*> those;
    for (actor& a : actors_)
      if (!a.delayed.empty())
        those.push_back(&a);
    auto const n = static_cast<unsigned>(those.size());
    drain(*those[n == 1 ? 0 : choices_->pick(n, choice_kind::write_back)], 1);
  }
  for (std::uint8_t level = 0; level < memory_level; ++level)
    for (node_id n = 0; n < node_count_; ++n)
      for (auto const dirty : {&node::dirty, &node::held})
        while (nodes_[n].level == level && !(nodes_[n].*dirty).empty())
          write_back(n, (nodes_[n].*dirty).back(), true);
}

/// Everything on its way to the cell reaches memory.
void cache_machine::finish_cell(cell_id c) {
  for (actor& a : actors_)
    drain_cell(a, c);
  while (cells_[c].first_holder != nobody) {
    node_id lowest = cells_[c].first_holder;
    for (node_id h = lowest; h != nobody; h = nodes_[h].places[c].next_holder)
      if (nodes_[h].level < nodes_[lowest].level)
        lowest = h;
    write_back(lowest, c, true);
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

// State

namespace {

void mix(std::uint64_t& h, std::uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15;
  h ^= h >> 29;
}

} // namespace

/// Which versions at the node were written after that.
void cache_machine::mix_later(std::uint64_t& h, node_id n, cell_id c, time since) const {
  if (!has(n, c))
    return;
  place const& p = nodes_[n].places[c];
  std::uint64_t later = 1;
  for (index i = p.count > kept ? p.count - kept : 0; i < p.count; ++i)
    later = 2 * later + (p.ring[i % kept].written > since ? 1 : 0);
  mix(h, later);
}

std::uint64_t cache_machine::hash() const {
  // Times count only as far as they decide which versions somebody may still fetch.
  std::uint64_t all = 0; // whatever the order in which the cells were first reached
  std::vector<index> oldest(node_count_);
  for (cell const& c : cells_) {
    if (c.bytes == 0)
      continue;
    std::uint64_t h = 0;
    mix(h, c.at);
    for (node_id n = 0; n < node_count_; ++n)
      oldest[n] = has(n, c.id) ? nodes_[n].places[c.id].count : 0;
    for (node_id n = 1; n < node_count_; ++n)
      for (node_id up = nodes_[n].parent;; up = nodes_[up].parent) {
        index const count = has(up, c.id) ? nodes_[up].places[c.id].count : 0;
        index first = 0;
        if (nodes_[n].is_leaf && has(n, c.id)) {
          first = nodes_[n].places[c.id].seen[nodes_[up].level];
          mix(h, nodes_[n].places[c.id].has_seen);
        }
        if (count != 0)
          mix(h, nodes_[up].places[c.id].ring[0].from > since(n, c.id)[nodes_[up].level] ? 1 : 0);
        first = std::max(first, count > kept ? count - kept : 0);
        while (first < count &&
               nodes_[up].places[c.id].ring[first % kept].until <= since(n, c.id)[nodes_[up].level])
          ++first;
        oldest[up] = std::min(oldest[up], first);
        mix(h, std::uint64_t{count} - first + (std::uint64_t{n} << 32 | up));
        if (up == memory)
          break;
      }
    for (node_id n = 0; n < node_count_; ++n) {
      if (!has(n, c.id))
        continue;
      place const& p = nodes_[n].places[c.id];
      bool const is_leaf = nodes_[n].is_leaf;
      mix(h, (std::uint64_t{n} << 8) | (p.is_dirty ? 2U * p.due + 1U : 0U));
      if (is_leaf && !p.is_dirty)
        continue;
      node_id const up = nodes_[n].parent;
      index const above = n != memory && has(up, c.id) ? nodes_[up].places[c.id].count : 0;
      if (p.is_dirty) {
        mix(h, above != 0 && may_be_behind(n, c.id) ? 3 : 2);
        // Whether it may get behind others farther up is decided by when it was written, too.
        for (node_id from = up; from != memory; from = nodes_[from].parent)
          mix_later(h, nodes_[from].parent, c.id, p.dirty_since);
      }
      index const first =
          is_leaf ? p.count - 1 : std::min(oldest[n], p.count == 0 ? 0 : p.count - 1);
      if (!is_leaf && n != memory)
        mix(h, std::uint64_t{above} - std::min(p.least, above));
      for (index i = std::max(first, p.count > kept ? p.count - kept : 0); i < p.count; ++i) {
        version const& v = p.ring[i % kept];
        mix(h, v.value);
        mix(h, v.by);
        mix(h, 2 * v.update + (v.until == always ? 1U : 0U));
        if (!is_leaf && n != memory)
          mix(h, std::uint64_t{above} - v.above);
      }
    }
    all += h;
  }
  std::uint64_t h = all;
  for (actor const& a : actors_) {
    mix(h, a.delayed.size());
    for (delayed_store const& d : a.delayed) {
      mix(h, cells_[d.at].at);
      mix(h, d.value);
      mix(h, d.level);
    }
  }
  return h;
}

} // namespace quarry::emu

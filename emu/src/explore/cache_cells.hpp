// SPDX-License-Identifier: Apache-2.0
// What every access goes through: from an address to its cell, and to a cache's place for it.
#pragma once

#include "cache_machine.hpp"

#include <algorithm>
#include <bit>

namespace quarry::emu {

[[nodiscard]] inline std::uint64_t low_bytes(std::uint64_t value, unsigned bytes) noexcept {
  return bytes == 8 ? value : value & ((std::uint64_t{1} << (8 * bytes)) - 1);
}

/// Of a hash of the machine's state.
inline void mix(std::uint64_t& h, std::uint64_t v) noexcept {
  h = (h ^ v) * 0x9e3779b97f4a7c15;
  h ^= h >> 29;
}

inline cache_machine::place& cache_machine::touch(node_id n, cell_id c) {
  if (place* const p = nodes_[n].places.find(c); p != nullptr && p->execution == execution_)
      [[likely]]
    return *p;
  return touch_first(n, c);
}

/// The first cell of those that make up the bytes; they follow each other, of `step` bytes each.
inline cache_machine::cell_id cache_machine::find(std::uintptr_t at, unsigned bytes,
                                                  unsigned& step) {
  line& l = lines_[at / line_bytes];
  std::size_t const word = at / 8 % line_words;
  if (l.word_bytes[word] == 0 || bytes < l.word_bytes[word]) [[unlikely]]
    return find_first(l, at, bytes, step);
  step = l.word_bytes[word];
  return l.first[word] + static_cast<cell_id>(at % 8 >> std::countr_zero(step));
}

/// The newest version at the node is one that may be fetched from now on.
inline void cache_machine::make_live(node_id n, cell_id c) {
  if (published_ != nullptr && !nodes_[n].is_leaf) [[unlikely]]
    publish(cells_[c]);
  if (place& p = nodes_[n].places[c]; !p.is_live && !nodes_[n].is_leaf) {
    p.is_live = true;
    nodes_[n].live.push_back(c);
  }
  ++now_;
}

/// Inline, so that the version is put together where it stays.
[[gnu::always_inline]] inline void cache_machine::append(node_id n, cell_id c, version const& v) {
  place& p = touch(n, c);
  if (p.lingering != 0) [[unlikely]]
    end_lingering(n, c, p.count - 2);
  if (p.count != 0) {
    version& last = p.newest();
    last.until = std::min(last.until, now_);
  }
  p[p.count] = v;
  p.latest = std::max(p.latest, v.written);
  ++p.count;
  make_live(n, c);
  ++cells_[c].changes;
}

/// The actor has written the cell, which is its newest write, as part of a release, or after one:
/// and of those before, if it is an update.
inline void cache_machine::note_release(actor const& a, cell_id c, bool releases, released before) {
  place& leaf = touch(a.path[0], c);
  leaf.has_released |= releases || a.has_fenced;
  auto const all = join(before, leaf.has_released ? released{number_of(a), 0} : released{});
  if (all.by != nobody)
    keep_release(all.by);
}

/// The newest version is not at the parent yet, but could have been since then. It counts as here
/// from the time `from` on.
inline void cache_machine::set_dirty(node_id n, cell_id c, std::uint8_t due, time since,
                                     time from) {
  place& p = nodes_[n].places[c];
  log_cache(n);
  p.due = std::max(p.due, due);
  p.dirty_since = std::max(p.dirty_since, since); // it comes after what was dirty before
  p.dirty_from = p.is_dirty ? std::min(p.dirty_from, from) : from;
  if (!p.is_dirty)
    become_dirty(n, c);
}

} // namespace quarry::emu

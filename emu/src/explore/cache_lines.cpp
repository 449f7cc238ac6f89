// SPDX-License-Identifier: Apache-2.0
// Lines of which one cell is the whole, until their words may differ.
#include "cache_cells.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace quarry::emu {
namespace {

/// So many stores to a line are undecided at a time, and then decided; and so many once there are
/// many to all lines: each keeps the line's value.
constexpr std::size_t most_undecided = 4096;
constexpr std::size_t few_undecided = 64;
constexpr std::size_t many_undecided = 65'536;
/// And so many times caches are emptied meanwhile: who polls does that often.
constexpr std::size_t most_emptied = 8;

} // namespace

// Lines

/// None if its words have cells of their own.
cache_machine::wide_line* cache_machine::find_wide(std::uintptr_t at, unsigned element) {
  line& l = lines_[at / line_bytes];
  if (l.wide == line::not_wide) {
    bool const has_words =
        std::any_of(l.word_bytes.begin(), l.word_bytes.end(), [](auto b) { return b != 0; });
    for (std::uintptr_t i = 0; i < line_bytes; i += 8)
      if (has_words || (!coarse_.is_empty() && coarse_.contain(at + i)))
        return nullptr;
    add_wide(l).element = static_cast<std::uint8_t>(element);
  }
  wide_line* const w = &wide_[l.wide];
  if (element < w->element) [[unlikely]] {
    if (decide(*w)) // of larger words, as if they had come apart then
      return nullptr;
    w->element = static_cast<std::uint8_t>(element);
  }
  return w;
}

cache_machine::wide_line& cache_machine::add_wide(line& l) {
  cell_id const c = new_cell(l.number * line_bytes, line_bytes);
  l.wide = static_cast<std::uint32_t>(wide_count_++);
  cells_[c].outside = l.wide;
  if (wide_count_ > wide_.size())
    wide_.emplace_back();
  wide_line& w = wide_[l.wide];
  w.cell = c;
  w.outside = line_values::none;
  w.undecided.clear();
  w.meanwhile.clear();
  return w;
}

/// Memory's, before anybody wrote it.
void cache_machine::first_values(cell& c, place& p) {
  std::array<std::uint64_t, line_words> words{};
  if (first_value_ != nullptr)
    for (std::size_t i = 0; i < line_words; ++i)
      words[i] = first_value_(c.at + 8 * i, 8, first_value_argument_);
  auto const bytes = std::as_bytes(std::span(words));
  wide_[c.outside].outside = values_.add(bytes.data());
  p[0].value = values_.add(bytes.data());
}

/// What others know of the line by its words.
void cache_machine::publish(cell const& c) {
  for (unsigned i = 0; i < c.bytes; i += 8)
    published_->push_back(c.at + i);
}

// Accesses

bool cache_machine::load_line(actor_id a, std::uintptr_t at, unsigned element, std::byte* into,
                              bool& is_first) {
  wide_line* w = find_wide(at, element);
  if (w == nullptr)
    return false;
  actor& self = actors_[a];
  self.asked.is_met = nullptr;
  is_first = false;
  cell_id const c = w->cell;
  if (sees_only_own(self, c)) {
    std::memcpy(into, values_.at(static_cast<line_values::id>(newest(self.path[0], c).value)),
                line_bytes);
    return true;
  }
  if (decide(*w))
    return false;
  auto const r = see_only_one(a, c);
  if (!r) { // each word sees what it likes
    come_apart(*w);
    return false;
  }
  is_first = r->first_bytes != 0;
  std::memcpy(into, values_.at(static_cast<line_values::id>(r->value)), line_bytes);
  return true;
}

bool cache_machine::store_line(actor_id a, std::uintptr_t at, unsigned element,
                               std::byte const* from) {
  release_before_write(a, std::nullopt, scope::work_item);
  wide_line* w = find_wide(at, element);
  if (w == nullptr)
    return false;
  std::size_t const most = undecided_count_ < many_undecided ? most_undecided : few_undecided;
  if (!w->undecided.empty() && (w->writer != a || w->undecided.size() >= most) && decide(*w))
      [[unlikely]]
    return false;
  node_id const leaf = actors_[a].path[0];
  cell_id const c = w->cell;
  place& p = touch(leaf, c);
  line_values::id const value = values_.add(from);
  ++last_write_;
  if (p.is_dirty) { // the value before this one may have been written back in time
    if (w->undecided.empty()) {
      w->writer = a;
      w->before = p;
      open_.push_back(static_cast<std::uint32_t>(w - wide_.data()));
    }
    w->undecided.push_back({value, last_write_, now_});
    ++undecided_count_;
    now_ += most_levels; // what it takes to write that back
  }
  time const since = now_;
  append(leaf, c, {value, 0, now_, now_, always, 0, last_write_, false, 0});
  note_release(actors_[a], c, false, {});
  set_dirty(leaf, c, 0, since, since);
  // Who leaves out what comes to the same wants to hear of it now. The words are as they should be.
  if (published_ != nullptr) [[unlikely]]
    decide(*w);
  return true;
}

// What was written back in time

/// Before somebody looks.
void cache_machine::decide_all() {
  while (!open_.empty())
    decide(wide_[open_.back()]);
}

/// Of the values that were overwritten. True if the line has come apart thereby: each word chooses,
/// and its value reaches other caches by itself.
bool cache_machine::decide(wide_line& w) {
  if (w.undecided.empty())
    return false;
  std::optional<cell_id> first;
  for (unsigned offset = 0; offset < line_bytes; offset += w.element) {
    unsigned const chosen = choose_leak(w, 0);
    if (chosen == 0)
      continue;
    if (!first) {
      close(w);
      first = come_apart(w); // into words of that size
    }
    leak(w, {*first + offset / w.element, offset, w.element}, chosen - 1);
  }
  if (first) {
    w.undecided.clear();
    w.meanwhile.clear();
  } else {
    drop_undecided(w);
  }
  return first.has_value();
}

void cache_machine::close(wide_line const& w) {
  undecided_count_ -= w.undecided.size();
  open_.erase(std::find(open_.begin(), open_.end(), cells_[w.cell].outside));
}

/// Whether, of the values that the stores from there on overwrote, one was written back, which is
/// the first one of these, and how far. 0: none.
unsigned cache_machine::choose_leak(wide_line const& w, std::size_t from) {
  auto const left = static_cast<unsigned>(w.undecided.size() - from);
  unsigned const levels = actors_[w.writer].levels - 1U;
  return left == 0 ? 0 : choices_->pick(1 + left * levels, choice_kind::write_back);
}

/// Somebody's fence empties his caches below that level: lines on whose way they are remember it,
/// if it does not come to an answer now.
void cache_machine::empty_open(actor const& a, unsigned level, bool is_flush, time before) {
  for (std::size_t i = open_.size(); i-- != 0;) {
    wide_line& w = wide_[open_[i]];
    bool is_far = &a != &actors_[w.writer] || level == 0;
    for (unsigned l = 0; is_flush && is_far && l < level; ++l) // has he some of the line himself?
      is_far = !has(a.path[l], w.cell) || !nodes_[a.path[l]].places[w.cell].is_dirty;
    for (unsigned l = 0; is_far && l < level; ++l)
      is_far = remember_emptying(w, {now_, a.path[l], is_flush, before});
    if (!is_far)
      decide(w);
  }
}

/// False if it has come to too much.
bool cache_machine::remember_emptying(wide_line& w, wide_line::emptying const& e) {
  actor const& writer = actors_[w.writer];
  if (level_at(writer, e.node) == writer.levels)
    return true;
  if (w.meanwhile.size() == most_emptied)
    return false;
  w.meanwhile.push_back(e);
  if (e.is_flush)
    ++now_;
  return true;
}

void cache_machine::drop_undecided(wide_line& w) {
  close(w);
  values_.release(static_cast<line_values::id>(w.before.newest().value));
  w.undecided.pop_back(); // it is still there
  for (wide_line::overwriting const& o : w.undecided)
    values_.release(o.value);
  w.undecided.clear();
  w.meanwhile.clear();
}

/// Goes through the stores to a word once more, and writes back some of what they overwrote. Nobody
/// has looked since: it is as if it had been decided then.
void cache_machine::leak(wide_line const& w, part of, unsigned chosen) {
  actor const& self = actors_[w.writer];
  place& own = nodes_[self.path[0]].places[of.of];
  unsigned const levels = self.levels - 1U;
  time const now = now_;
  node_id const next_holder = own.next_holder;
  own = word_of(w.before, of);
  own.next_holder = next_holder;
  std::size_t done = 0, emptied = 0;
  for (unsigned which = 1 + chosen; which != 0; which = choose_leak(w, done)) {
    if (std::size_t const skipped = (which - 1) / levels; skipped != 0)
      overwrite(w, of, w.undecided[(done += skipped) - 1]); // those before it nobody will see
    redo(w, of, emptied, w.undecided[done].at);
    now_ = w.undecided[done].at;
    write_back_to(self.path[0], of.of, self.path[1 + (which - 1) % levels]);
    overwrite(w, of, w.undecided[done++]);
  }
  if (done != w.undecided.size())
    overwrite(w, of, w.undecided.back());
  redo(w, of, emptied, now);
  now_ = now;
}

/// What emptied the caches on the way until then.
void cache_machine::redo(wide_line const& w, part of, std::size_t& emptied, time before) {
  for (; emptied != w.meanwhile.size() && w.meanwhile[emptied].at < before; ++emptied)
    empty(of, w.meanwhile[emptied]);
}

void cache_machine::empty(part of, wide_line::emptying const& e) {
  now_ = e.at;
  if (!has(e.node, of.of))
    return;
  place& p = nodes_[e.node].places[of.of];
  if (p.is_dirty && e.is_flush) {
    if (p.dirty_from < e.before)
      write_back(e.node, of.of, arrival::chosen);
  } else if (!p.is_dirty && p.is_live && !e.is_flush) {
    p.newest().until = std::min(p.newest().until, e.at);
    p.is_live = false;
  }
}

void cache_machine::overwrite(wide_line const& w, part of, wide_line::overwriting const& o) {
  node_id const leaf = actors_[w.writer].path[0];
  time const at = now_ = o.at + most_levels;
  append(leaf, of.of,
         {values_.word(o.value, of.offset, of.bytes), 0, at, at, always, 0, o.write, false, 0});
  set_dirty(leaf, of.of, 0, at, at);
}

// Lines that come apart

void cache_machine::narrow(cell_id c) {
  if (wide_line& w = wide_[cells_[c].outside]; !decide(w))
    come_apart(w);
}

/// Into words of its element's size, with what is known of it. Gives the first one.
cache_machine::cell_id cache_machine::come_apart(wide_line& w) {
  cell_id const gone = w.cell;
  std::uintptr_t const at = cells_[gone].at;
  auto const first = static_cast<cell_id>(cells_.size());
  for (unsigned offset = 0; offset < line_bytes; offset += w.element)
    copy_word(w, {new_cell(at + offset, w.element), offset, w.element});
  for (node_id n = 0; n < node_count_; ++n)
    std::erase(nodes_[n].dirty, gone);
  cells_[gone].bytes = 0;
  cells_[gone].first_holder = nobody;
  line& l = lines_[at / line_bytes];
  l.wide = line::not_wide;
  l.word_bytes.fill(w.element);
  for (unsigned i = 0; i < line_words; ++i)
    l.first[i] = first + i * 8 / w.element;
  return first;
}

void cache_machine::copy_word(wide_line const& w, part to) {
  for (node_id n = 0; n < node_count_; ++n) {
    if (!has(n, w.cell))
      continue;
    touch(n, to.of);
    place& copy = nodes_[n].places[to.of];
    copy = word_of(nodes_[n].places[w.cell], to);
    if (copy.is_dirty)
      nodes_[n].dirty.push_back(to.of);
    if (copy.is_live)
      nodes_[n].live.push_back(to.of);
  }
  cells_[to.of].first_holder = cells_[w.cell].first_holder; // the links are in the places
  if (has(memory, w.cell))
    cells_[to.of].outside = values_.word(w.outside, to.offset, to.bytes);
}

/// What is at a place of the line, for one of its words.
cache_machine::place cache_machine::word_of(place const& p, part of) const {
  place copy = p;
  for (index i = p.oldest(); i < p.count; ++i)
    copy[i].value = values_.word(static_cast<line_values::id>(p[i].value), of.offset, of.bytes);
  return copy;
}

/// A write-back that may come late, or not: each word chooses.
void cache_machine::write_back_words(node_id n, cell_id c) {
  wide_line& w = wide_[cells_[c].outside];
  cell_id const first = come_apart(w), end = static_cast<cell_id>(cells_.size());
  for (cell_id word = first; word != end; ++word)
    write_back(n, word, arrival::chosen);
}

// The end

void cache_machine::for_each_word_of(cell_id c, known_word const& f) {
  wide_line const& w = wide_[cells_[c].outside];
  auto const value = static_cast<line_values::id>(newest(memory, c).value);
  for (unsigned i = 0; i < line_bytes; i += w.element) {
    std::uint64_t outside = values_.word(w.outside, i, w.element);
    f(cells_[c].at + i, w.element, values_.word(value, i, w.element), outside);
    values_.set_word(w.outside, i, w.element, outside);
  }
}

/// A line in the range, or with a part of it: then its words come later.
void cache_machine::forget_line(cell_id c, std::uintptr_t begin, std::size_t bytes,
                                gone_word const& f) {
  std::uintptr_t const at = cells_[c].at;
  if (at < begin || at + line_bytes > begin + bytes) {
    narrow(c);
    return;
  }
  finish_cell(c);
  if (!is_wide(c))
    return;
  if (has(memory, c) && nodes_[memory].places[c].count > 1)
    for_each_word_of(c, [&f](std::uintptr_t word, unsigned size, std::uint64_t value,
                             std::uint64_t&) { f(word, size, value); });
  lines_[at / line_bytes].wide = line::not_wide;
  cells_[c].bytes = 0;
}

} // namespace quarry::emu

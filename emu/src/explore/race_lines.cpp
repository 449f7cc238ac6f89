// SPDX-License-Identifier: Apache-2.0
// Marks of whole lines: what consecutive lanes of one vector instruction have done.
#include "race_marks.hpp"

#include <utility>

namespace quarry::emu {

/// None of these marks is in a race with the access, or of the same instruction. Those that it
/// stands for are gone, as they will be when its lanes come one by one.
inline bool race_detector::follows(std::uint32_t& first, access const& a) noexcept {
  for (std::uint32_t* link = &first; *link != none;) {
    mark& m = marks_[*link];
    relation const r = relate(m, a);
    if (r != relation::ordered && r != relation::harmless)
      return false;
    if (r == relation::ordered && stands_for(a, m)) {
      drop_mark(*link);
    } else {
      link = &m.next;
    }
  }
  return true;
}

/// Who goes on alone with a line: the access stands for what it did there, but a load for no
/// stores. False if it is not alone, or has been there in this instruction.
inline bool race_detector::goes_on(line& l, access const& a) {
  for (std::uint32_t i = l.whole; i != none; i = marks_[i].next)
    if (marks_[i].what.actor != a.actor || marks_[i].at >= actors_[a.actor].instruction)
      return false;
  std::uint32_t kept = none; // becomes this one's
  for (std::uint32_t* link = &l.whole; *link != none;) {
    mark& m = marks_[*link];
    if (m.what.how.writes() && a.what == access::kind::load) {
      link = &m.next;
    } else if (kept == none) {
      kept = *link;
      link = &m.next;
    } else {
      drop_mark(*link);
    }
  }
  if (kept == none) {
    add_mark(l.whole, a, 0xff);
    return true;
  }
  set_mark(marks_[kept], a, 0xff);
  return true;
}

bool race_detector::access_line(actor_id a, access::kind kind, std::uintptr_t at, unsigned element,
                                site first_lane) {
  activate(a, first_lane.lane);
  line& l = lines_[at / line_bytes];
  access const what{a, kind, {}, scope::work_item, at, element, first_lane, now_ + 1};
  time const after = now_ + static_cast<time>(line_bytes) / element; // a step for each lane
  std::uint32_t marks = none;                                        // none has any
  for (std::uint32_t const first : l.first)
    marks &= first;
  bool const is_simple = marks == none && coarse_.is_empty();
  if (is_simple && goes_on(l, what)) {
    now_ = after;
    return true;
  }
  bool is_free = !is_coarse(at) && follows(l.whole, what);
  for (std::uint32_t& first : l.first)
    is_free = is_free && (first == none || follows(first, what));
  if (!is_free) {
    split(l); // lane by lane it will be seen who races with whom
    return false;
  }
  add_mark(l.whole, what, 0xff);
  now_ = after;
  return true;
}

bool race_detector::is_coarse(std::uintptr_t line) const noexcept {
  for (std::uintptr_t i = 0; !coarse_.is_empty() && i < line_bytes; i += 8)
    if (coarse_.contain(line + i))
      return true;
  return false;
}

/// The line's marks become marks of its words, the newest first as if they always had been.
void race_detector::split(line& l) {
  for (std::uint32_t i = std::exchange(l.whole, none); i != none;) {
    mark const m = marks_[i];
    std::uint32_t const next = m.next;
    marks_[i].next = std::exchange(free_mark_, i);
    split(l, m);
    i = next;
  }
}

void race_detector::split(line& l, mark const& whole) {
  for (unsigned offset = 0; offset < line_bytes; offset += whole.what.bytes) {
    unsigned const lane = offset / whole.what.bytes;
    mark m = whole;
    m.at += lane;
    m.what.lane = static_cast<std::int16_t>(m.what.lane + static_cast<int>(lane));
    m.address += offset;
    m.what.mask = static_cast<std::uint8_t>(((1U << m.what.bytes) - 1) << offset % 8);
    std::uint32_t const number = take_mark(); // may move them all
    std::uint32_t* link = &l.first[offset / 8];
    while (*link != none && marks_[*link].at > m.at)
      link = &marks_[*link].next;
    m.next = std::exchange(*link, number);
    marks_[number] = m;
  }
}

} // namespace quarry::emu

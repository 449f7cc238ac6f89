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
      std::uint32_t const freed = std::exchange(*link, m.next);
      m.next = std::exchange(free_mark_, freed);
    } else {
      link = &m.next;
    }
  }
  return true;
}

bool race_detector::access_line(actor_id a, access::kind kind, std::uintptr_t at, unsigned element,
                                site first_lane) {
  activate(a, first_lane.lane);
  line& l = find(at / line_bytes);
  access const what{a, kind, {}, scope::work_item, at, element, first_lane, now_ + 1};
  bool is_free = !is_coarse(at) && follows(l.whole, what);
  for (std::uint32_t& first : l.first)
    is_free = is_free && (first == none || follows(first, what));
  if (!is_free) {
    split(l); // lane by lane it will be seen who races with whom
    return false;
  }
  add_mark(l.whole, what, 0xff);
  now_ += static_cast<time>(line_bytes) / element; // a step for each lane
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
  for (unsigned offset = 0; offset < line_bytes; offset += whole.bytes) {
    unsigned const lane = offset / whole.bytes;
    mark m = whole;
    m.at += lane;
    m.lane = static_cast<std::int16_t>(m.lane + static_cast<int>(lane));
    m.address += offset;
    m.mask = static_cast<std::uint8_t>(((1U << m.bytes) - 1) << offset % 8);
    std::uint32_t const number = take_mark(); // may move them all
    std::uint32_t* link = &l.first[offset / 8];
    while (*link != none && marks_[*link].at > m.at)
      link = &marks_[*link].next;
    m.next = std::exchange(*link, number);
    marks_[number] = m;
  }
}

} // namespace quarry::emu

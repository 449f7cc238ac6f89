// SPDX-License-Identifier: Apache-2.0
// The race detector's memory of accesses: which of them conflict, and which still have to be kept.
#include "each_word.hpp"
#include "race_marks.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace quarry::emu {

// Accesses

std::optional<race_detector::race> race_detector::load(access&& a, write_id read_from) {
  begin(a, access::kind::load);
  if (!a.order && goes_on(a))
    return std::nullopt;
  if (a.order)
    acquire(a, *a.order, read_from);
  return check(a);
}

std::optional<race_detector::race> race_detector::store(access&& a, write_id& id_out) {
  begin(a, access::kind::store);
  id_out = 0;
  if (!a.order && goes_on(a))
    return std::nullopt;
  if (a.order)
    id_out = publish(a, *a.order, 0);
  return check(a);
}

std::optional<race_detector::race> race_detector::update(access&& a, write_id read_from, bool wrote,
                                                         write_id& id_out) {
  QUARRY_ASSERT(a.order.has_value());
  begin(a, wrote ? access::kind::update : access::kind::failed_update);
  acquire(a, *a.order, read_from);
  id_out = wrote ? publish(a, *a.order, read_from) : 0;
  return check(a);
}

inline void race_detector::begin(access& a, access::kind what) {
  activate(a.actor, a.at.lane);
  a.what = what;
  a.step = ++now_;
}

// Conflicts

/// The race that it is in, if any. Most are in none: there is nothing to copy. Apart from what most
/// accesses are, which need less.
[[gnu::noinline]] std::optional<race_detector::race> race_detector::check(access const& a) {
  auto const offset = static_cast<unsigned>(a.address % 8);
  if (a.bytes != 0 && offset + a.bytes <= 8) [[likely]]
    check_word(a, a.address / 8, static_cast<std::uint8_t>(((1U << a.bytes) - 1) << offset));
  else
    check_words(a);
  if (!found_) [[likely]]
    return std::nullopt;
  return std::exchange(found_, std::nullopt);
}

void race_detector::check_words(access const& a) {
  for_each_word(a.address, a.bytes,
                [&](std::uintptr_t number, std::uint8_t mask) { check_word(a, number, mask); });
}

[[gnu::always_inline]] inline void race_detector::check_word(access const& a, std::uintptr_t number,
                                                             std::uint8_t mask) {
  line& l = lines_[number / line_words];
  if (l.whole != none) [[unlikely]]
    split(l);
  std::uint32_t& first = l.first[number % line_words];
  if (first == none)
    add_mark(first, a, mask);
  else if (marks_[first].what.actor != a.actor || !goes_on(first, a, mask))
    compare_all(first, a, mask);
}

/// Most plain accesses are of this kind. False: not for sure.
[[gnu::always_inline]] inline bool race_detector::goes_on(access const& a) {
  auto const offset = static_cast<unsigned>(a.address % 8);
  line* const l = lines_.recent(a.address / line_bytes);
  if (l == nullptr || l->whole != none || a.bytes > 8 - offset)
    return false;
  std::uint32_t& first = l->first[a.address / 8 % line_words];
  auto const mask = static_cast<std::uint8_t>(((1U << a.bytes) - 1) << offset);
  return first != none && goes_on(first, a, mask);
}

/// An actor does with the same bytes what it has done before, and nobody else is concerned: the
/// word has no marks but of that. Of plain accesses these are a store's, a load's, or both, the
/// load's first. True if they stand for this access, too.
[[gnu::always_inline]] inline bool race_detector::goes_on(std::uint32_t& first, access const& a,
                                                          std::uint8_t mask) {
  // Apart from those two all is the same; the lane may be another one's in a later instruction.
  auto const kinds = std::bit_cast<std::uint64_t>(deed{.how = {.kind = 3}});
  auto const lanes = std::bit_cast<std::uint64_t>(deed{.lane = -1});
  deed const what = deed_of(a, mask);
  bool const is_atomic = a.order.has_value();
  auto const is_same = [&](mark const& before, std::uint64_t aside) {
    auto const differs =
        (std::bit_cast<std::uint64_t>(before.what) ^ std::bit_cast<std::uint64_t>(what)) & ~aside;
    return differs == 0 || ((differs & ~lanes) == 0 && before.at < actors_[a.actor].instruction);
  };
  mark& head = marks_[first];
  if (!is_same(head, is_atomic ? 0 : kinds))
    return false;
  std::uint32_t const next = head.next;
  if (next != none) {
    mark const& second = marks_[next];
    if (is_atomic || second.next != none || head.what.how.writes() || !second.what.how.writes() ||
        !is_same(second, kinds))
      return false;
  }
  if (head.what.how.writes() && !writes(a.what) && !is_atomic) {
    add_mark(first, a, mask);
    return true;
  }
  set_mark(head, a, mask);
  if (writes(a.what) && next != none)
    drop_mark(head.next);
  return true;
}

void race_detector::compare_all(std::uint32_t& first, access const& a, std::uint8_t mask) {
  bool is_marked = false;
  for (std::uint32_t* link = &first; *link != none;) {
    mark& m = marks_[*link];
    if ((m.what.mask & mask) != 0)
      is_marked = compare(m, a, mask) || is_marked;
    if (m.what.mask != 0) {
      link = &m.next;
    } else {
      drop_mark(*link);
    }
  }
  if (!is_marked)
    add_mark(first, a, mask);
}

/// With one earlier access. True if its mark is this one's, too.
inline bool race_detector::compare(mark& m, access const& a, std::uint8_t mask) {
  switch (relation const r = relate(m, a)) {
  case relation::racing:
  case relation::indirect:
    if (!found_)
      found_ = explain(m, a, r == relation::indirect);
    return false;
  case relation::same_instruction:
    // A broadcast has one mark.
    if (m.what.mask != mask || m.what.how != pack(a))
      return false;
    m.at = now_;
    m.what.lane = several_lanes;
    return true;
  case relation::ordered:
    if (stands_for(a, m))
      m.what.mask = static_cast<std::uint8_t>(m.what.mask & ~mask);
    return false;
  case relation::harmless:
    break;
  }
  return false;
}

/// Have the two agents not met at a kernel's begin or end since the marked access, though the word
/// passes between them nowhere else?
bool race_detector::is_mid_kernel(mark const& m, access const& a) const noexcept {
  if (level(m.what.actor, a.actor) != scope::system || !coarse_.contain(a.address))
    return false;
  actor const& first = actors_[m.what.actor];
  actor const& second = actors_[a.actor];
  time const arrived = first.is_kernel ? first.ended : m.at; // at memory
  if (arrived == 0)
    return true;
  if (!second.is_kernel)
    return !knows(a.actor, m.what.actor, arrived);
  return second.begun == none || !knew(second.begun, m.what.actor, arrived);
}

void race_detector::forget(std::uintptr_t begin, std::size_t bytes) {
  coarse_.remove(begin);
  if (lines_.is_empty())
    return;
  std::uintptr_t const end = begin + bytes;
  std::uintptr_t const first_line = begin / line_bytes;
  std::uintptr_t const end_line = (end + line_bytes - 1) / line_bytes;
  lines_.for_each(first_line, end_line, [&](line& l) { forget(l, begin, end); });
}

/// Those of its bytes that are in the range: a word at the edge has others' beside them.
void race_detector::forget(line& l, std::uintptr_t begin, std::uintptr_t end) {
  if (l.number * line_bytes >= begin && (l.number + 1) * line_bytes <= end)
    forget_bytes(l.whole, 0xff);
  else
    split(l);
  for (std::size_t i = 0; i < line_words; ++i) {
    std::uintptr_t const at = (l.number * line_words + i) * 8;
    if (l.first[i] == none || at + 8 <= begin || at >= end)
      continue;
    unsigned const from = begin > at ? static_cast<unsigned>(begin - at) : 0U;
    unsigned const to = end < at + 8 ? static_cast<unsigned>(end - at) : 8U;
    forget_bytes(l.first[i], static_cast<std::uint8_t>((1U << to) - (1U << from)));
  }
}

void race_detector::forget_bytes(std::uint32_t& first, std::uint8_t mask) {
  for (std::uint32_t* link = &first; *link != none;) {
    mark& m = marks_[*link];
    m.what.mask = static_cast<std::uint8_t>(m.what.mask & ~mask);
    if (m.what.mask != 0) {
      link = &m.next;
      continue;
    }
    drop_mark(*link);
  }
}

} // namespace quarry::emu

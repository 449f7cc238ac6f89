// SPDX-License-Identifier: Apache-2.0
// What every access goes through: from an address to its marks, and how they stand to it.
#pragma once

#include "race_detector.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace quarry::emu {

inline race_detector::manner race_detector::pack(access const& a) noexcept {
  return {.kind = static_cast<std::uint8_t>(static_cast<unsigned>(a.what) & 3U),
          .order = static_cast<std::uint8_t>(a.order ? static_cast<unsigned>(*a.order) & 7U : 7U),
          .scope = static_cast<std::uint8_t>(static_cast<unsigned>(a.scope) & 7U)};
}

/// Put together in a register: to read at once what was just written in parts is slow.
inline race_detector::deed race_detector::deed_of(access const& a, std::uint8_t mask) noexcept {
  auto const bits = [](auto value, unsigned above) { return std::uint64_t{value} << above; };
  auto const how = bits(std::bit_cast<std::uint8_t>(pack(a)), 56);
  return std::bit_cast<deed>(bits(static_cast<std::uint16_t>(a.actor), 0) |
                             bits(static_cast<std::uint16_t>(a.at.lane), 16) |
                             bits(std::min(a.bytes, 0xffffU), 32) | bits(mask, 48) | how);
}

/// All but its place in a list.
inline void race_detector::set_mark(mark& m, access const& a, std::uint8_t mask) noexcept {
  m.at = a.step;
  m.address = a.address;
  m.where = a.at.where;
  m.what = deed_of(a, mask);
}

/// One that is free.
inline std::uint32_t race_detector::take_mark() {
  if (free_mark_ != none)
    return std::exchange(free_mark_, marks_[free_mark_].next);
  marks_.emplace_back();
  return static_cast<std::uint32_t>(marks_.size() - 1);
}

/// Takes the mark that `link` leads to out of its list.
inline void race_detector::drop_mark(std::uint32_t& link) noexcept {
  std::uint32_t const freed = std::exchange(link, marks_[link].next);
  marks_[freed].next = std::exchange(free_mark_, freed);
}

/// In front of the others.
inline void race_detector::add_mark(std::uint32_t& first, access const& a, std::uint8_t mask) {
  std::uint32_t const number = take_mark();
  set_mark(marks_[number], a, mask);
  marks_[number].next = std::exchange(first, number);
}

/// How the two stand to each other, their bytes aside.
inline race_detector::relation race_detector::relate(mark const& m,
                                                     access const& a) const noexcept {
  bool const is_same = m.what.actor == a.actor;
  if (is_same && a.at.lane != -1 && m.what.lane != -1 && m.what.lane != a.at.lane &&
      m.at >= ordered_since(a.actor, m.what.lane, a.at.lane))
    return conflicts(m, a) ? relation::racing : relation::same_instruction;
  if (!knows(a.actor, m.what.actor, m.at))
    return conflicts(m, a) ? relation::racing : relation::harmless;
  if (!coarse_.is_empty() && is_mid_kernel(m, a))
    return conflicts(m, a) ? relation::racing : relation::harmless;
  if (is_same || !is_direct_ || !conflicts(m, a))
    return relation::ordered;
  for (std::size_t s = 0; s < scope_count; ++s)
    if (clock(a.actor, row::direct + s)[m.what.actor] >= m.at)
      return relation::ordered;
  return relation::indirect;
}

/// Must the two be ordered?
inline bool race_detector::conflicts(mark const& m, access const& a) const noexcept {
  if (!m.what.how.writes() && !writes(a.what))
    return false;
  return !m.what.how.is_atomic() || !a.order ||
         std::min(static_cast<scope>(m.what.how.scope), a.scope) < level(m.what.actor, a.actor);
}

/// Whoever races with the marked access, which is ordered before this one, also races with this.
inline bool race_detector::stands_for(access const& a, mark const& m) const noexcept {
  bool const is_same = m.what.actor == a.actor;
  if ((m.what.how.writes() && !writes(a.what)) || (is_direct_ && !is_same))
    return false;
  // The scopes of two in one work-group include the same others.
  return !a.order || (m.what.how.is_atomic() && a.scope <= static_cast<scope>(m.what.how.scope) &&
                      (is_same || level(m.what.actor, a.actor) == scope::work_group));
}

} // namespace quarry::emu

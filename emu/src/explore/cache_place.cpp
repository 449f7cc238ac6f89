// SPDX-License-Identifier: Apache-2.0
#include "cache_place.hpp"

namespace quarry::emu {

cache_place::index cache_place::find_copy(std::uint32_t id) const noexcept {
  for (index i = oldest(); i < count; ++i)
    if ((*this)[i].id == id)
      return i;
  return unknown;
}

cache_place::time cache_place::fetched_since() const noexcept {
  return count == 0 || newest().written == newest().from ? 0 : newest().written;
}

bool late_word::may_precede(cache_way way, std::size_t at, cache_place::index which) const {
  cache_place::version const v = (*way.places[at])[which];
  while (v.update > way.level(at) && due >= way.level(at)) { // a copy: it was performed above
    if (++at == way.places.size())
      return false;
    which = way.places[at]->find_copy(v.id);
    if (which == cache_place::unknown)
      return false;
  }
  return may_precede_there(way, at, which);
}

/// Of a version that is no copy of an update from above, or whose update does not matter.
bool late_word::may_precede_there(cache_way way, std::size_t at, cache_place::index which) const {
  cache_place const& p = *way.places[at];
  cache_place const* const below = at == 0 ? nullptr : way.places[at - 1];
  cache_place::index const first = below == nullptr ? 0 : first_above(*below);
  for (auto i = p.count; i-- != p.oldest();) {
    cache_place::version const& v = p[i];
    if (v.id == after || v.written <= since || (i < first && v.written <= below->dirty_since))
      return false;
    if (i > which)
      continue;
    if (i < which && v.update > way.level(at) && due >= way.level(at))
      return may_precede(way, at, i); // a copy: what its update has read stands above
    auto const may_be_here = may_be_right_before(way, at, v);
    if (!may_be_here || *may_be_here)
      return may_be_here.has_value();
  }
  return false;
}

/// Nothing: it comes after the version, or after what that has read.
std::optional<bool> late_word::may_be_right_before(cache_way way, std::size_t at,
                                                   cache_place::version const& v) const {
  bool may = due < way.level(at) || v.update < way.level(at);
  while (at-- != 0) {
    auto const copy = way.places[at]->find_copy(v.id);
    if (copy == cache_place::unknown) { // not there, or no longer remembered
      bool const may_be_forgotten = way.places[at]->oldest() != 0 && due >= way.level(at);
      if (may && may_be_forgotten && way.left_out != nullptr)
        *way.left_out = true;
      may = may && !may_be_forgotten;
      continue;
    }
    if (v.update <= way.level(at)) // it went up from there, after what is before it there
      return may_precede_there(way, at, copy) ? std::optional(may) : std::nullopt;
    auto const& there = (*way.places[at])[copy];
    if (there.written <= since)
      return std::nullopt;
    may = may && (due < way.level(at) || !there.came_through);
  }
  return may;
}

/// The first of the parent's versions that it may be right before, when it comes through this
/// cache: it comes after what was here before it.
cache_place::index late_word::first_above(cache_place const& below) const {
  for (auto i = below.count; i-- != below.oldest();)
    if (auto const& v = below[i]; v.id == after || v.written <= since)
      return v.above + 1;
  return below.oldest() == 0 ? 0 : below[below.oldest()].above + 1; // after what is forgotten, too
}

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#include "memory_map.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <new>
#include <utility>

namespace quarry::emu {

void memory_map::clear() noexcept {
  sources_.clear();
  gone_.clear();
  accessed_ = {};
}

void memory_map::add(allocations const& source) {
  if (std::find(sources_.begin(), sources_.end(), &source) == sources_.end())
    sources_.push_back(&source);
}

void memory_map::remove(allocations const& source) noexcept {
  std::erase(sources_, &source);
  accessed_ = {};
}

void memory_map::has_gone(known_range&& what) noexcept {
  try {
    gone_.push_back(std::move(what));
  } catch (std::bad_alloc const&) {
    return; // reports do not name it then
  }
}

bool memory_map::allows(std::uintptr_t at, unsigned bytes) noexcept {
  if (shared_ == nullptr)
    return true;
  known_range const* const r = find(at);
  if (r == nullptr || at + bytes > r->end || r->is_lds) // an actor's own LDS is not asked for
    return false;
  accessed_[next_accessed_++ % accessed_.size()] = {r->begin, r->end};
  return true;
}

known_range const* memory_map::find(std::uintptr_t at) const noexcept {
  for (allocations const* const a : sources_)
    if (known_range const* const r = a->find(at))
      return r;
  return nullptr;
}

known_range const* memory_map::find_near(std::uintptr_t at) const noexcept {
  known_range const* best = find(at);
  if (best != nullptr)
    return best;
  for (allocations const* const a : sources_)
    if (known_range const* const r = a->find_near(at);
        r != nullptr && (best == nullptr || r->distance(at) < best->distance(at)))
      best = r;
  return best;
}

known_range const* memory_map::find_gone(std::uintptr_t at) const noexcept {
  // LDS is used again: what lies there now is meant then.
  auto const is_taken = [this](known_range const& g) {
    return std::any_of(sources_.begin(), sources_.end(), [&](allocations const* a) {
      known_range const* const last = a->find_before(g.end - 1);
      return last != nullptr && last->end > g.begin;
    });
  };
  auto const holds = [&](known_range const& g) {
    return at >= g.begin && at < g.end && !is_taken(g);
  };
  auto const last = std::find_if(gone_.rbegin(), gone_.rend(), holds);
  return last == gone_.rend() ? nullptr : &*last;
}

std::string memory_map::title_of(known_range const& r) const {
  std::size_t count = 0, number = 0;
  for (allocations const* const a : sources_) {
    if (a->find(r.begin) == &r)
      number = count + a->count_named(r.name, &r) + 1;
    count += a->count_named(r.name);
  }
  return count < 2 || number == 0 ? r.name : fmt::format("{} #{}", r.name, number);
}

std::string memory_map::offset_of(std::uintptr_t at) const {
  constexpr std::uintptr_t page = 4096;
  known_range const* const gone = find_gone(at);
  known_range const* const r = gone != nullptr ? gone : find_near(at);
  return r != nullptr ? r->offset_of(title_of(*r), at)
         : at < page  ? fmt::format("null + {}", at)
                      : "an address";
}

} // namespace quarry::emu

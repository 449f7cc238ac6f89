// SPDX-License-Identifier: Apache-2.0
// The accesses of a wavefront's lanes to consecutive elements, a line at a time.
#include "explored_memory.hpp"
#include "lane_site.hpp"

#include <cstring>

namespace quarry::emu {
namespace {

constexpr unsigned line_bytes = 64;

std::byte const* element(cache_port::lane_row const& r, unsigned lane) noexcept {
  return static_cast<std::byte const*>(r.at) + std::size_t{lane} * r.element;
}

std::uintptr_t address(cache_port::lane_row const& r, unsigned lane) noexcept {
  return reinterpret_cast<std::uintptr_t>(r.at) + std::uintptr_t{lane} * r.element;
}

/// How many lanes from this one on have a line for themselves; 0 if others have part of it.
unsigned lanes_of_line(cache_port::lane_row const& r, unsigned lane) noexcept {
  unsigned const lanes = line_bytes / r.element;
  return address(r, lane) % line_bytes == 0 && r.count - lane >= lanes ? lanes : 0;
}

std::uint64_t word_of(std::byte const* values, unsigned bytes) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, values, bytes);
  return word;
}

} // namespace

/// Whether it is of global memory that is there, and no one wants to have it done otherwise.
bool cache_port::takes_lines(operation_kind what, lane_row const& r) const {
  std::uintptr_t const at = address(r, 0);
  unsigned const bytes = r.count * r.element;
  if (at % r.element != 0 || is_lds(r.at))
    return false;
  if (memory_->operations_.is_wanted()) [[unlikely]] {
    std::optional<order> o;
    scope s = scope::work_item;
    memory_->watch(id_, what, o, s, r.where);
    if (o)
      return false;
  }
  // With the first element its allocation becomes known.
  return memory_->is_allocated(id_, at, r.element, r.where) &&
         (memory_->shared() == nullptr || memory_->map_.was_accessed(at, bytes));
}

cache_port::word_access cache_port::lane_access(lane_row const& r, unsigned lane) noexcept {
  return {.at = element(r, lane),
          .bytes = r.element,
          .order = std::nullopt,
          .scope = scope::work_item,
          .where = r.where,
          .lane = r.first_lane + static_cast<int>(lane)};
}

void cache_port::load_row(lane_row const& r, void* into) const {
  bool const by_line = takes_lines(operation_kind::load, r);
  auto* to = static_cast<std::byte*>(into);
  unsigned by_lines = 0;
  for (unsigned lane = 0; lane != r.count;) {
    unsigned const lanes = by_line ? lanes_of_line(r, lane) : 0;
    if (lanes != 0 && load_line(r, lane, to)) {
      by_lines += lanes;
      lane += lanes;
      to += line_bytes;
      continue;
    }
    // Of what has come apart the other lanes need not be tried.
    for (unsigned const end = lane + (lanes == 0 ? 1 : lanes); lane != end; to += r.element) {
      std::uint64_t const word = load_word(lane_access(r, lane));
      std::memcpy(to, &word, r.element);
      ++lane;
    }
  }
  count_lanes(r, by_lines);
}

void cache_port::store_row(lane_row const& r, void const* from) const {
  bool const by_line = takes_lines(operation_kind::store, r);
  auto const* values = static_cast<std::byte const*>(from);
  unsigned by_lines = 0;
  for (unsigned lane = 0; lane != r.count;) {
    unsigned const lanes = by_line ? lanes_of_line(r, lane) : 0;
    if (lanes != 0 && store_line(r, lane, values)) {
      by_lines += lanes;
      lane += lanes;
      values += line_bytes;
      continue;
    }
    for (unsigned const end = lane + (lanes == 0 ? 1 : lanes); lane != end; values += r.element) {
      store_word(lane_access(r, lane), word_of(values, r.element));
      ++lane;
    }
  }
  count_lanes(r, by_lines);
  if (by_lines != 0)
    memory_->note_change(id_, by_lines);
}

/// Operations of those that were not counted one by one.
void cache_port::count_lanes(lane_row const& r, unsigned lanes) const {
  if (lanes == 0)
    return;
  memory_->count(id_, r.where);
  memory_->actors_[id_].operations += lanes - 1;
}

bool cache_port::load_line(lane_row const& r, unsigned lane, std::byte* into) const {
  std::uintptr_t const at = address(r, lane);
  bool is_first = false;
  if (!memory_->machine_.load_line(id_, at, r.element, into, is_first))
    return false;
  if (is_first && !memory_->uninitialised_.is_empty())
    for (unsigned i = 0; i < line_bytes; i += r.element)
      memory_->check_initialised(
          id_, at + i, r.element, {word_of(into + i, r.element), 0, false, 0xff},
          lane_site(r.where, r.first_lane + static_cast<int>(lane + i / r.element)));
  memory_->note_look(id_, at, r.where);
  note_line(r, lane, false, into);
  return true;
}

bool cache_port::store_line(lane_row const& r, unsigned lane, std::byte const* from) const {
  if (!memory_->machine_.store_line(id_, address(r, lane), r.element, from))
    return false;
  memory_->end_polling(id_, address(r, lane), line_bytes);
  note_line(r, lane, true, from);
  return true;
}

/// Beside the caches: what load_word() and store_word() do for each lane.
void cache_port::note_line(lane_row const& r, unsigned lane, bool is_store,
                           std::byte const* values) const {
  using access = race_detector::access;
  std::uintptr_t const at = address(r, lane);
  unsigned const lanes = line_bytes / r.element;
  bool const detects = memory_->options_.detects_races;
  bool const is_noted =
      !memory_->remembers() &&
      (!detects || memory_->races_.access_line(
                       id_, is_store ? access::kind::store : access::kind::load, at, r.element,
                       lane_site(r.where, r.first_lane + static_cast<int>(lane))));
  for (unsigned i = 0; !is_noted && i != lanes; ++i) {
    word_access const one = lane_access(r, lane + i);
    if (memory_->remembers())
      remember(one, is_store ? "store" : "load",
               word_of(values + std::size_t{i} * r.element, r.element));
    if (!detects)
      continue;
    race_detector::write_id by = 0;
    memory_->note(is_store ? memory_->races_.store(access_of(one, id_, one.lane), by)
                           : memory_->races_.load(access_of(one, id_, one.lane), by));
  }
  if (memory_->effects_.is_asked()) [[unlikely]]
    for (unsigned i = 0; i != lanes; ++i)
      memory_->effects_.tell(at + std::uintptr_t{i} * r.element, std::nullopt);
}

} // namespace quarry::emu

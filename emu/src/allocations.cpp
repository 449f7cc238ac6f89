// SPDX-License-Identifier: Apache-2.0
#include "explore/explored_memory.hpp"

#include <quarry/emu/allocations.hpp>
#include <quarry/emu/fault.hpp>
#include <quarry/report.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace quarry::emu {
namespace {

std::uintptr_t number(void const* at) {
  return reinterpret_cast<std::uintptr_t>(at);
}

/// Where a thread has found an address, of the allocations that had that version. Most accesses go
/// where one before them went: they need no lock.
struct found_range {
  std::uint64_t version = 0;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;

  [[nodiscard]] bool contains(std::uintptr_t at, std::size_t bytes) const noexcept {
    return at >= begin && at <= end && bytes <= end - at;
  }
};

/// A few of them: neighbouring pages have different ones.
found_range& found_by_this_thread(std::uintptr_t at) noexcept {
  static thread_local constinit std::array<found_range, 8> those{};
  return those[at / 4096 % those.size()];
}

std::string described(allocations::range const& r, std::string const& title) {
  return fmt::format("'{}' ({} bytes, allocated at {})", title, r.end - r.begin,
                     quarry::to_string(r.where));
}

[[noreturn]] void overlaps(std::string const& name, std::size_t bytes, std::string const& known,
                           std::size_t known_bytes) {
  throw std::invalid_argument(
      fmt::format("allocations: '{}' ({} bytes) overlaps '{}' ({} bytes), which is known already",
                  name, bytes, known, known_bytes));
}

} // namespace

std::string known_range::offset_of(std::string_view title, std::uintptr_t at) const {
  return at < begin ? fmt::format("'{}' - {}", title, begin - at)
                    : fmt::format("'{}' + {}", title, at - begin);
}

std::uint64_t allocations::first_version() noexcept {
  static std::atomic<std::uint64_t> count{0};
  return (count.fetch_add(1, std::memory_order_relaxed) + 1) << 32;
}

allocations::ranges::const_iterator allocations::after(std::uintptr_t at) const noexcept {
  return ranges_.upper_bound(at);
}

namespace {

known_range range_of(void const* begin, std::size_t bytes, std::string&& name,
                     std::source_location where) {
  std::uintptr_t const first = number(begin);
  if (bytes > static_cast<std::uintptr_t>(-1) - first)
    throw std::invalid_argument(
        fmt::format("allocations: '{}' ({} bytes) goes beyond the last address", name, bytes));
  return {first, first + bytes, std::move(name), where, 0};
}

} // namespace

void allocations::insert(range&& r) {
  std::unique_lock const lock(mutex_);
  // Known ranges are apart, so that only a neighbour can be in the way.
  auto const next = after(r.begin);
  std::size_t const bytes = r.end - r.begin;
  if (next != ranges_.end() && next->begin < r.end)
    overlaps(r.name, bytes, next->name, next->end - next->begin);
  if (next != ranges_.begin())
    if (range const& e = *std::prev(next); e.end > r.begin || e.begin == r.begin)
      overlaps(r.name, bytes, e.name, e.end - e.begin);
  r.number = ++added_;
  ranges_.insert(next, std::move(r));
  version_.fetch_add(1, std::memory_order_release);
}

void allocations::add_lds(void const* begin, std::size_t bytes, std::string name,
                          std::source_location where) {
  range r = range_of(begin, bytes, std::move(name), where);
  r.is_lds = true;
  insert(std::move(r));
}

void allocations::add(void const* begin, std::size_t bytes, std::string name, contents holds,
                      coherence grain, std::source_location where) {
  insert(range_of(begin, bytes, std::move(name), where));
  if (listener_ != nullptr)
    listener_->added();
  if (holds == contents::uninitialised && listener_ != nullptr)
    listener_->added_uninitialised(begin, bytes);
  if (grain == coherence::coarse_grained && listener_ != nullptr)
    listener_->added_coarse_grained(begin, bytes);
}

/// Of what is given back the last few are known to reports; LDS is used again.
void allocations::note_gone(range&& r) noexcept {
  if (r.is_lds)
    return;
  gone_[gone_count_++ % gone_.size()] = std::move(r);
}

allocations::range const* allocations::find_gone(std::uintptr_t at) const noexcept {
  if (find(at) != nullptr)
    return nullptr;
  for (std::size_t i = 1; i <= gone_.size(); ++i)
    if (range const& g = gone_[(gone_count_ - i) % gone_.size()]; at >= g.begin && at < g.end)
      return &g;
  return nullptr;
}

void allocations::remove(void const* begin) noexcept {
  std::uintptr_t const first = number(begin);
  if (listener_ != nullptr) {
    std::size_t bytes = 0;
    {
      std::shared_lock const lock(mutex_);
      if (auto const at = ranges_.find(first); at != ranges_.end())
        bytes = at->end - first;
    }
    listener_->removed(begin, bytes);
  }
  std::unique_lock const lock(mutex_);
  if (auto const at = ranges_.find(first); at != ranges_.end()) {
    auto gone = ranges_.extract(at);
    if (listener_ != nullptr)
      listener_->has_gone(std::move(gone.value()));
    else
      note_gone(std::move(gone.value()));
    version_.fetch_add(1, std::memory_order_release);
  }
}

bool allocations::contain(void const* at, std::size_t bytes) const noexcept {
  std::uintptr_t const first = number(at);
  // Acquire: pairs with the release of whoever added or removed a range.
  std::uint64_t const version = version_.load(std::memory_order_acquire);
  found_range& found = found_by_this_thread(first);
  if (found.version == version && found.contains(first, bytes)) [[likely]]
    return true;
  {
    std::shared_lock const lock(mutex_);
    auto const next = after(first);
    if (next != ranges_.begin()) {
      range const& r = *std::prev(next);
      if (found_range const here{version_.load(std::memory_order_relaxed), r.begin, r.end};
          here.contains(first, bytes)) {
        found = here;
        return true;
      }
    }
  }
  return outer_ != nullptr && outer_->contain(at, bytes);
}

allocations::range const* allocations::find(std::uintptr_t at) const noexcept {
  auto const next = after(at);
  return next != ranges_.begin() && at < std::prev(next)->end ? &*std::prev(next) : nullptr;
}

allocations::range const* allocations::find_before(std::uintptr_t at) const noexcept {
  auto const next = after(at);
  return next == ranges_.begin() ? nullptr : &*std::prev(next);
}

allocations::range const* allocations::find_near(std::uintptr_t at) const noexcept {
  constexpr std::uintptr_t far = 1 << 20;
  range const* const before = find_before(at);
  if (before != nullptr && at < before->end)
    return before;
  auto const next = after(at);
  range const* const behind = next == ranges_.end() ? nullptr : &*next;
  bool const is_before =
      behind == nullptr || (before != nullptr && before->distance(at) < behind->distance(at));
  range const* const nearest = is_before ? before : behind;
  return nearest != nullptr && nearest->distance(at) < far ? nearest : nullptr;
}

std::size_t allocations::count_named(std::string_view name, range const* before) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(ranges_.begin(), ranges_.end(), [&](range const& r) {
        return r.name == name && (before == nullptr || r.number < before->number);
      }));
}

std::string allocations::title_of(range const& r) const {
  return count_named(r.name) == 1 ? r.name
                                  : fmt::format("{} #{}", r.name, count_named(r.name, &r) + 1);
}

std::string allocations::offset_of(void const* at) const {
  std::shared_lock const lock(mutex_);
  if (range const* const g = find_gone(number(at)))
    return g->offset_of(g->name, number(at));
  range const* const r = find_near(number(at));
  return r == nullptr ? fmt::format("{}", at) : r->offset_of(title_of(*r), number(at));
}

std::string allocations::locate(void const* at) const {
  std::shared_lock const lock(mutex_);
  range const* const r = find(number(at));
  return r == nullptr ? "" : fmt::format("{}, byte {}", title_of(*r), number(at) - r->begin);
}

std::string allocations::describe(void const* at, std::size_t bytes) const {
  std::shared_lock const lock(mutex_);
  std::uintptr_t const first = number(at);
  if (range const* const g = find_gone(first))
    return fmt::format("at byte {} of {}, which was given back", first - g->begin,
                       described(*g, g->name));
  range const* const near = find_near(first);
  if (near == nullptr)
    return first < 4096 ? "far from every allocation"
                        : "far from every allocation that its agent knows; what another one has it "
                          "knows by agent::expose()";
  auto const next = after(number(at));
  if (next == ranges_.begin())
    return fmt::format("{} bytes before {}", near->begin - number(at),
                       described(*near, title_of(*near)));
  range const& e = *std::prev(next);
  if (first < e.end && bytes <= e.end - first)
    return fmt::format("at byte {} of {}", first - e.begin, described(e, title_of(e)));
  if (first < e.end)
    return fmt::format("{} bytes over the end of {}", bytes - (e.end - first),
                       described(e, title_of(e)));
  return fmt::format(
      "{} bytes after the end of {}{}", number(at) - e.end, described(e, title_of(e)),
      next == ranges_.end()
          ? ""
          : fmt::format(", {} bytes before '{}'", next->begin - number(at), title_of(*next)));
}

void check_bounds(allocations const& known, void const* at, std::size_t bytes, attempt how) {
  if (bytes == 0 || known.contain(at, bytes))
    return;
  explored_memory const* const memory = explored_memory::running();
  throw kernel_stop{fault::kind::out_of_bounds,
                    fmt::format("{} of {} bytes at {}: {}", how.what, bytes,
                                memory != nullptr ? memory->offset_of(at) : known.offset_of(at),
                                memory != nullptr ? memory->surroundings_of(at, bytes)
                                                  : known.describe(at, bytes)),
                    how.where, how.lane};
}

void stop_misaligned(void const* at, std::size_t bytes, std::size_t alignment, attempt how,
                     allocations const* known) {
  explored_memory const* const memory = explored_memory::running();
  throw kernel_stop{fault::kind::misaligned,
                    fmt::format("{} of {} bytes at {}, which is not a multiple of {}", how.what,
                                bytes,
                                memory != nullptr  ? memory->offset_of(at)
                                : known != nullptr ? known->offset_of(at)
                                                   : fmt::format("{}", at),
                                alignment),
                    how.where, how.lane};
}

} // namespace quarry::emu

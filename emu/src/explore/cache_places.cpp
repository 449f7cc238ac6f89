// SPDX-License-Identifier: Apache-2.0
#include "cache_places.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace quarry::emu {
namespace {

/// Few are in memory of the heap, which costs no calls of the system: 86 kB.
constexpr std::size_t few = 256;

/// Whole pages.
std::size_t bytes_of(std::size_t count) noexcept {
  static auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (count * sizeof(cache_place) + page - 1) / page * page;
}

void* map(std::size_t bytes) noexcept {
  return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                -1, 0);
}

} // namespace

void cache_places::grow(std::size_t least) {
  std::size_t const count = std::max(least, 2 * count_);
  if (count <= few) {
    void* const at =
        std::memset(::operator new(count * sizeof(cache_place)), 0, count * sizeof(cache_place));
    move_to(at, count);
    return;
  }
  std::size_t const bytes = bytes_of(count);
  void* const at =
      count_ <= few ? map(bytes) : ::mremap(first_, bytes_of(count_), bytes, MREMAP_MAYMOVE);
  if (at == MAP_FAILED)
    throw std::bad_alloc();
  if (count_ <= few)
    return move_to(at, bytes / sizeof(cache_place));
  first_ = static_cast<cache_place*>(at);
  count_ = bytes / sizeof(cache_place);
}

/// From the heap.
void cache_places::move_to(void* at, std::size_t count) noexcept {
  if (first_ != nullptr)
    std::memcpy(at, first_, count_ * sizeof(cache_place));
  ::operator delete(first_);
  first_ = static_cast<cache_place*>(at);
  count_ = count;
}

void cache_places::clear() noexcept {
  if (count_ <= few)
    ::operator delete(first_);
  else
    ::munmap(first_, bytes_of(count_));
  first_ = nullptr;
  count_ = 0;
}

} // namespace quarry::emu

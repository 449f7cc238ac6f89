// SPDX-License-Identifier: Apache-2.0
#include "cache_places.hpp"

#include <cstring>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace quarry::emu {
namespace {

/// Whole pages.
std::size_t bytes_of(std::size_t count) noexcept {
  static auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (count * sizeof(cache_place) + page - 1) / page * page;
}

void* map(std::size_t bytes) noexcept {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at != MAP_FAILED) // one place would take a huge page; if there are none, it is an error
    static_cast<void>(::madvise(at, bytes, MADV_NOHUGEPAGE));
  return at;
}

} // namespace

void cache_places::grow(std::size_t least) {
  std::size_t const count = std::max(least, 2 * array_.count);
  if (count <= few) {
    std::size_t const bytes = count * sizeof(cache_place);
    return move_to(std::memset(::operator new(bytes), 0, bytes), count);
  }
  std::size_t const bytes = bytes_of(count);
  bool const is_mapped = array_.count > few;
  void* const at = is_mapped ? ::mremap(array_.first, bytes_of(array_.count), bytes, MREMAP_MAYMOVE)
                             : map(bytes);
  if (at == MAP_FAILED)
    throw std::bad_alloc();
  if (!is_mapped)
    return move_to(at, bytes / sizeof(cache_place));
  array_.first = static_cast<cache_place*>(at);
  array_.count = bytes / sizeof(cache_place);
}

/// From the heap.
void cache_places::move_to(void* at, std::size_t count) noexcept {
  if (array_.first != nullptr)
    std::memcpy(at, array_.first, array_.count * sizeof(cache_place));
  ::operator delete(array_.first);
  array_.first = static_cast<cache_place*>(at);
  array_.count = count;
}

void cache_places::give_back() noexcept {
  array_.kept = 0;
  if (array_.count > few)
    static_cast<void>(
        ::madvise(array_.first, bytes_of(array_.count), MADV_DONTNEED)); // or it is kept
}

void cache_places::clear() noexcept {
  if (array_.count > few)
    ::munmap(array_.first, bytes_of(array_.count));
  else
    ::operator delete(array_.first);
  array_ = {};
}

} // namespace quarry::emu

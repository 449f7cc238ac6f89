// SPDX-License-Identifier: Apache-2.0
#include <quarry/net/error.hpp>
#include <quarry/net/symmetric_heap.hpp>

#include <fmt/core.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <sys/mman.h>

namespace quarry::net {
namespace {

constexpr std::size_t huge_page = 2 * 1024 * 1024;
constexpr std::size_t line = 64;
static_assert(huge_page % symmetric_heap::alignment == 0);

std::byte* make_region(std::size_t bytes) {
  if (bytes == 0 || bytes > std::size_t{1} << 47)
    throw std::invalid_argument(
        fmt::format("symmetric heap: {} bytes; allowed are 1 to 2^47", bytes));
  // A small heap on a large page would cost more to make than to use.
  bool const is_large = bytes >= huge_page / 2;
  std::size_t const unit = is_large ? huge_page : line;
  std::size_t const whole = (bytes + unit - 1) / unit * unit;
  void* region = nullptr;
  if (::posix_memalign(&region, is_large ? huge_page : symmetric_heap::alignment, whole) != 0)
    throw std::bad_alloc{};
  // Only a hint: without it the heap works on small pages.
  if (is_large)
    static_cast<void>(::madvise(region, whole, MADV_HUGEPAGE));
  std::memset(region, 0, bytes);
  return static_cast<std::byte*>(region);
}

} // namespace

void symmetric_heap::release::operator()(std::byte* p) const noexcept {
  std::free(p);
}

symmetric_heap::symmetric_heap(std::size_t bytes) : size_(bytes), begin_(make_region(bytes)) {}

result<symmetric_address> symmetric_heap::take(std::size_t count, std::size_t each) {
  std::size_t const first = (used_ + line - 1) / line * line;
  if (first > size_ || count > (size_ - first) / each)
    return make_error(net_errc::heap_exhausted,
                      fmt::format("symmetric heap: {} x {} bytes asked for, {} of {} are left",
                                  count, each, first > size_ ? 0 : size_ - first, size_));
  used_ = first + count * each;
  return symmetric_address{first};
}

result<std::byte*> symmetric_heap::checked(symmetric_address at, std::size_t bytes,
                                           std::size_t alignment) {
  if (at.offset > size_ || bytes > size_ - at.offset)
    return make_error(net_errc::outside_heap,
                      fmt::format("symmetric heap: {} bytes at offset {}; the heap has {}", bytes,
                                  at.offset, size_));
  if (at.offset % alignment != 0)
    return make_error(
        net_errc::misaligned,
        fmt::format("symmetric heap: offset {} is not a multiple of {}", at.offset, alignment));
  return begin_.get() + at.offset;
}

result<symmetric_address> symmetric_heap::address_of(void const* local) const {
  auto const begin = reinterpret_cast<std::uintptr_t>(begin_.get());
  auto const at = reinterpret_cast<std::uintptr_t>(local);
  if (at < begin || at - begin > size_)
    return make_error(net_errc::outside_heap,
                      fmt::format("symmetric heap: {} is not in it", local));
  return symmetric_address{at - begin};
}

} // namespace quarry::net

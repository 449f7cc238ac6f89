// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

namespace quarry::net {

/// A place in the symmetric heap: the same offset on every pe.
struct symmetric_address {
  std::uint64_t offset = 0;
  friend bool operator==(symmetric_address, symmetric_address) = default;
};

/// One pe's part of the partitioned global address space: a zeroed region in which the same
/// sequence of allocations gives the same offsets on every pe, so that an offset names the same
/// object everywhere.
///
/// Allocations are given back all at once, with the heap: programs allocate before they run. On
/// huge pages where the machine gives them, since remote operations go to random places.
///
/// Source   OpenSHMEM 1.5 §3 (symmetric objects); thesis §5.4 (PGAS)
class symmetric_heap {
public:
  /// What its begin is a multiple of.
  static constexpr std::size_t alignment = 4096;

  /// Shape    bytes: 1 to 2^47
  /// Errors   std::invalid_argument, std::bad_alloc
  explicit symmetric_heap(std::size_t bytes);

  /// `count` zeroed elements, 64-byte aligned.
  ///
  /// Errors   heap_exhausted – naming what was asked for and what is left
  template<class T>
  [[nodiscard]] result<std::span<T>> allocate(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64);
    auto const place = take(count, sizeof(T));
    if (!place)
      return place.error();
    return std::span<T>(reinterpret_cast<T*>(begin_.get() + place->offset), count);
  }

  /// The local copy of a remote range that somebody names: checked before it is touched.
  ///
  /// Shape    alignment a power of two
  /// Errors   outside_heap, misaligned – with all the numbers
  [[nodiscard]] result<std::byte*> checked(symmetric_address at, std::size_t bytes,
                                           std::size_t alignment = 1);

  /// Where a local pointer into the heap is on every pe.
  ///
  /// Errors   outside_heap
  [[nodiscard]] result<symmetric_address> address_of(void const* local) const;

  [[nodiscard]] std::byte* begin() const noexcept { return begin_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t left() const noexcept { return size_ - used_; }
  /// The whole heap as 64-bit words.
  [[nodiscard]] std::span<std::uint64_t> words() noexcept {
    return {reinterpret_cast<std::uint64_t*>(begin_.get()), size_ / sizeof(std::uint64_t)};
  }

private:
  result<symmetric_address> take(std::size_t count, std::size_t each);

  struct release {
    void operator()(std::byte* p) const noexcept;
  };
  std::size_t size_;
  std::size_t used_ = 0;
  std::unique_ptr<std::byte, release> begin_;
};

} // namespace quarry::net

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/core.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/net/shmem/orders.hpp>
#include <quarry/net/shmem/vocabulary.hpp>
#include <quarry/net/shmem/words.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <source_location>

namespace quarry::net::shmem {

/// What operations do to a heap, on behalf of one actor; for reports, at one line.
template<emu::memory_model M>
class heap_access {
  using core = emu::basic_core<M>;

public:
  heap_access(core const& self, shmem_orders const& orders,
              std::source_location where = std::source_location::current())
      : self_(self), orders_(orders), where_(where) {}

  void put(std::byte* at, std::byte const* from, std::size_t bytes) const {
    if (is_word(at, bytes))
      for_width(bytes, [&]<class T>(T) {
        T value;
        std::memcpy(&value, from, sizeof value);
        self_.store(global<T>(at), value, orders_.apply_word, where_);
      });
    else
      write(at, from, bytes);
  }
  void get(std::byte* to, std::byte const* at, std::size_t bytes) const {
    if (is_word(at, bytes))
      for_width(bytes, [&]<class T>(T) {
        T const value = self_.load(global<T>(at), orders_.fetch_word, where_);
        std::memcpy(to, &value, sizeof value);
      });
    else
      read(to, at, bytes);
  }

  /// Plain accesses: of who owns the bytes at the moment.
  void write(std::byte* at, std::byte const* from, std::size_t bytes) const {
    if (bytes == 0)
      return; // from nowhere, perhaps
    if constexpr (!M::may_explore)
      std::memcpy(at, from, bytes);
    else
      for_words(at, bytes, [&]<class T>(T, std::size_t i) {
        T value;
        std::memcpy(&value, from + i, sizeof value);
        self_.store(global<T>(at + i), value, where_);
      });
  }
  void read(std::byte* to, std::byte const* at, std::size_t bytes) const {
    if (bytes == 0)
      return;
    if constexpr (!M::may_explore)
      std::memcpy(to, at, bytes);
    else
      for_words(at, bytes, [&]<class T>(T, std::size_t i) {
        T const value = self_.load(global<T>(at + i), where_);
        std::memcpy(to + i, &value, sizeof value);
      });
  }

  void signal(std::byte* at, signal_op how, std::uint64_t value) const {
    if (how == signal_op::set)
      self_.store(global<std::uint64_t>(at), value, orders_.apply_word, where_);
    else
      static_cast<void>(
          self_.fetch_add(global<std::uint64_t>(at), value, orders_.apply_update, where_));
  }

  /// Gives the old value, but not that of a set whose `needs_old` is false.
  std::uint64_t update(std::byte* at, unsigned width, atomic_op op, std::uint64_t operand,
                       std::uint64_t comparand, bool needs_old) const {
    return width == 4 ? update<std::uint32_t>(at, op, operand, comparand, needs_old)
                      : update<std::uint64_t>(at, op, operand, comparand, needs_old);
  }

private:
  template<class T>
  static emu::global<T> global(void const* at) noexcept {
    return emu::global<T>(static_cast<T*>(const_cast<void*>(at)));
  }
  static bool is_word(void const* at, std::size_t bytes) noexcept {
    return bytes <= 8 && std::has_single_bit(bytes) &&
           reinterpret_cast<std::uintptr_t>(at) % bytes == 0;
  }
  template<class T>
  std::uint64_t update(std::byte* p, atomic_op op, std::uint64_t operand, std::uint64_t comparand,
                       bool needs_old) const {
    auto const at = global<T>(p);
    auto const n = static_cast<T>(operand);
    emu::access const a = orders_.apply_update;
    switch (op) {
    case atomic_op::fetch:
      return self_.load(at, orders_.fetch_word, where_);
    case atomic_op::set:
      if (needs_old)
        return self_.exchange(at, n, a, where_);
      self_.store(at, n, orders_.apply_word, where_);
      return 0;
    case atomic_op::compare_swap: {
      auto expected = static_cast<T>(comparand);
      self_.compare_exchange(at, expected, n, a, where_);
      return expected;
    }
    case atomic_op::add:
      return self_.fetch_add(at, n, a, where_);
    case atomic_op::bit_and:
      return self_.fetch_and(at, n, a, where_);
    case atomic_op::bit_or:
      return self_.fetch_or(at, n, a, where_);
    case atomic_op::bit_xor:
      return self_.fetch_xor(at, n, a, where_);
    }
    return 0;
  }

  core const& self_;
  shmem_orders const& orders_;
  std::source_location where_;
};

} // namespace quarry::net::shmem

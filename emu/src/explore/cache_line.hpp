// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache_place.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace quarry::emu {

/// The values of whole lines, each behind a number: what a cache_machine's version of a line that
/// has not come apart into words says instead of a value. Copies of a version share them.
///
/// Shape    64 bytes each; clear() keeps the memory; a number may be anything's after release()
class line_values {
public:
  using id = std::uint32_t;
  static constexpr std::size_t bytes = 64;
  static constexpr id none = ~0U;

  [[nodiscard]] id add(std::byte const* value) {
    id const i = take();
    std::memcpy(all_[i].data(), value, bytes);
    return i;
  }
  [[nodiscard]] id copy(id other) {
    id const i = take(); // may move them all
    all_[i] = all_[other];
    return i;
  }
  /// Nobody uses it any more.
  void release(id i) { free_.push_back(i); }
  void clear() noexcept {
    count_ = 0;
    free_.clear();
  }

  /// Until the next one is added.
  [[nodiscard]] std::byte const* at(id i) const noexcept { return all_[i].data(); }
  /// Naturally aligned.
  [[nodiscard]] std::uint64_t word(id i, unsigned offset, unsigned size) const noexcept {
    std::uint64_t w = 0;
    std::memcpy(&w, all_[i].data() + std::size_t{offset} / 8 * 8, 8);
    return w << (64 - 8 * (offset % 8 + size)) >> (64 - 8 * size);
  }
  void set_word(id i, unsigned offset, unsigned size, std::uint64_t value) noexcept {
    std::memcpy(all_[i].data() + offset, &value, size);
  }

private:
  [[nodiscard]] id take() {
    if (!free_.empty()) {
      id const i = free_.back();
      free_.pop_back();
      return i;
    }
    if (count_ == all_.size())
      all_.resize(count_ == 0 ? 64 : 2 * count_);
    return static_cast<id>(count_++);
  }

  std::vector<std::array<std::byte, bytes>> all_;
  std::size_t count_ = 0; ///< of those, in use or free
  std::vector<id> free_;
};

/// A line of a cache_machine's line_table: of each word the first of its cells, which follow each
/// other, and their size; 0 while nobody has reached it.
struct cache_line {
  static constexpr std::uintptr_t bytes = line_values::bytes;
  static constexpr std::size_t words = bytes / 8;
  static constexpr std::uint32_t not_wide = ~0U;

  std::uintptr_t number; ///< address / 64
  std::uint32_t generation = 0;
  std::uint32_t wide; ///< the wide_cache_line; `not_wide` if its words are cells
  std::array<std::uint8_t, words> word_bytes;
  std::array<std::uint32_t, words> first;

  void begin() noexcept {
    wide = not_wide;
    word_bytes = {};
  }
};

/// A line of which one cell is the whole: a version's value is the number of one of line_values.
struct wide_cache_line {
  /// A store over what was dirty in the writer's own cache, while nobody else has looked: whether
  /// the value before it was written back in time is decided later, for all of them at once.
  struct overwriting {
    line_values::id value;
    std::uint32_t write; ///< its id
    cache_place::time at;
  };
  /// Of somebody else, meanwhile: a cache on the way was emptied. Nothing of the line was in it.
  struct emptying {
    cache_place::time at;
    std::uint32_t node;
    bool is_flush;            ///< otherwise it was invalidated
    cache_place::time before; ///< a flush of what was stored before then
  };

  std::uint32_t cell = 0;
  std::uint8_t element = 8; ///< the size of its words
  line_values::id outside = line_values::none;
  std::uint32_t writer = 0; ///< the actor
  cache_place before{};     ///< in the writer's own cache, when the first of these came
  std::vector<overwriting> undecided{};
  std::vector<emptying> meanwhile{};
};

} // namespace quarry::emu

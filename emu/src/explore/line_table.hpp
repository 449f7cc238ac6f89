// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace quarry::emu {

/// What is known of a line of memory, in a line_table.
template<class T>
concept table_line = requires(T& line) {
  { line.number } -> std::same_as<std::uintptr_t&>;    // address / 64
  { line.generation } -> std::same_as<std::uint32_t&>; // the table's; at first 0
  line.begin();                                        // nobody has reached it so far
};

/// Lines by their number, for lookups that mostly hit one of the last few.
///
/// Shape    open addressing, at most half full; clear() costs nothing; a line moves when another
///          one is reached
template<table_line Line>
class line_table {
public:
  void clear() noexcept {
    if (++generation_ == 0) {
      lines_.clear();
      generation_ = 1;
    }
    count_ = 0;
    recent_ = {};
  }
  [[nodiscard]] bool is_empty() const noexcept { return count_ == 0; }

  /// Which is reached by that.
  [[nodiscard]] Line& operator[](std::uintptr_t number) {
    Line* const l = recent(number);
    return l != nullptr ? *l : reach(number);
  }
  /// Null: it is none of the last few.
  [[nodiscard]] Line* recent(std::uintptr_t number) const noexcept {
    Line* const l = recent_[number % recent_.size()];
    return l != nullptr && l->number == number ? l : nullptr;
  }
  /// Calls f(line) for those with numbers in [first, end).
  template<std::invocable<Line&> F>
  void for_each(std::uintptr_t first, std::uintptr_t end, F const& f) {
    if (end - first < lines_.size()) {
      for (std::uintptr_t number = first; number < end; ++number)
        if (Line& l = place_of(number); l.generation == generation_)
          f(l);
      return;
    }
    for (Line& l : lines_)
      if (l.generation == generation_ && l.number >= first && l.number < end)
        f(l);
  }

private:
  [[gnu::noinline]] Line& reach(std::uintptr_t number) {
    if (2 * count_ >= lines_.size())
      grow();
    Line& l = place_of(number);
    if (l.generation != generation_) {
      l.number = number;
      l.generation = generation_;
      l.begin();
      ++count_;
    }
    recent_[number % recent_.size()] = &l;
    return l;
  }
  /// Where it is, or would be.
  [[nodiscard]] Line& place_of(std::uintptr_t number) noexcept {
    for (std::size_t i = number * 0x9e37'79b9'7f4a'7c15 >> 32;; ++i) {
      Line& l = lines_[i & (lines_.size() - 1)];
      if (l.generation != generation_ || l.number == number)
        return l;
    }
  }
  void grow() {
    std::vector<Line> const old =
        std::exchange(lines_, std::vector<Line>(std::max<std::size_t>(64, 2 * lines_.size())));
    for (Line const& l : old)
      if (l.generation == generation_)
        place_of(l.number) = l;
    recent_ = {};
  }

  std::vector<Line> lines_; ///< those of former generations are free
  std::size_t count_ = 0;   ///< of this generation
  std::uint32_t generation_ = 1;
  std::array<Line*, 4> recent_{}; ///< those that were found last, by number
};

} // namespace quarry::emu

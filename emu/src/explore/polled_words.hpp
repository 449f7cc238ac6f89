// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace quarry::emu {

/// The words that plain loads of an actor have read, perhaps again and again: the last four, each
/// with the source line that read it.
///
/// Without an acquire, or a store of its own, an actor's plain loads must see no other value than
/// before: that would be a race. A loop of them that ends nonetheless does so by mere chance.
///
/// Source   design §4
class polled_words {
public:
  struct ended_loop {
    std::uint64_t value; ///< that it has read in vain
    unsigned times;      ///< at least 2
  };
  /// A plain load in `line` has read `value`. Where it has read another one there before, more than
  /// once: that.
  std::optional<ended_loop> read(std::uintptr_t at, unsigned bytes, std::uint64_t value,
                                 std::uint_least32_t line) noexcept {
    for (word& w : last_) {
      if (w.at != at || w.bytes != bytes || w.line != line)
        continue;
      if (w.value == value) {
        ++w.times;
        return std::nullopt;
      }
      ended_loop const ended{w.value, w.times};
      w = {at, bytes, line, value};
      return ended.times > 1 ? std::optional(ended) : std::nullopt;
    }
    last_[count_++ % last_.size()] = {at, bytes, line, value};
    return std::nullopt;
  }

  /// The actor may see from now on what others have written,
  void forget() noexcept {
    if (std::exchange(count_, 0) != 0)
      for (word& w : last_)
        w.at = 0;
  }
  /// or has written there itself.
  void forget(std::uintptr_t at, unsigned bytes) noexcept {
    if (count_ == 0)
      return;
    for (word& w : last_)
      if (w.at / 8 >= at / 8 && w.at / 8 <= (at + bytes - 1) / 8)
        w.at = 0;
  }

private:
  struct word {
    std::uintptr_t at = 0; ///< 0: none
    unsigned bytes = 0;
    std::uint_least32_t line = 0;
    std::uint64_t value = 0;
    unsigned times = 1; ///< that value
  };
  std::array<word, 4> last_{};
  std::uint32_t count_ = 0; ///< so far; the next one takes the oldest one's place
};

} // namespace quarry::emu

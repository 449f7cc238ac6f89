// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace quarry::emu {

/// How a plain function's spin is recognised: by what it keeps seeing of at most four words.
///
/// Its actor's own, who tells it of an atomic access now and then, and of each while it suspects a
/// spin.
class spin_watch {
public:
  static constexpr std::size_t most_words = 4;
  enum class advice : std::uint8_t {
    go_on,
    wait,     ///< it has only looked: nothing becomes of it until one of the words changes
    give_way, ///< it changes words itself, but has seen the same for long: others may be waited for
  };

  struct word {
    void const* at;
    std::uint64_t bits; ///< its value
    std::uint32_t size; ///< in bytes
  };
  /// Which access it wants to be told of first; later ones after false alarms.
  static constexpr std::uint32_t first = 64;

  /// Nothing has been seen.
  void begin() noexcept {
    count_ = 0;
    nap_ = first;
  }
  /// The actor has seen that value, and left it there.
  [[nodiscard]] advice sees(word const& seen);
  /// It has changed some word, or may have.
  void changes() noexcept { repeats_ = 0; }
  /// Which access it wants to be told of next: 1 while it suspects a spin.
  [[nodiscard]] std::uint32_t next() const noexcept { return count_ == 0 ? nap_ : 1; }

  /// Whether one of the words that it has seen again and again has another value; an actor's poll.
  static bool has_ended(void* watch) noexcept;

private:
  /// What has been seen since the last nap.
  struct memory {
    std::array<word, most_words> words; ///< the first `count_`
    std::uint32_t seen_again;           ///< a bit for each word: in the last `repeats_`
    std::uint32_t rounds;               ///< that brought nothing new
  };

  advice sees_again(std::uint32_t i) noexcept;
  advice was_false_alarm() noexcept;

  std::uint32_t count_ = 0;
  std::uint32_t nap_ = first;
  std::uint32_t repeats_ = 0; ///< `rounds` since its actor changed a word
  std::unique_ptr<memory> memory_;
};

/// The same where an exploration decides: by loads of one word, each of which it is told.
class explored_spin {
public:
  /// The wavefront's operation of that number has seen these bits there. `give_way`: it has done
  /// other things between its looks, so that it may end by itself.
  [[nodiscard]] spin_watch::advice sees(void const* at, std::uint64_t bits,
                                        std::uint64_t operation) noexcept;

private:
  void const* at_ = nullptr;
  std::uint64_t bits_ = 0;
  std::uint64_t operation_ = 0; ///< the last look
  int looks_ = 0;
  bool has_worked_ = false; ///< between them
};

} // namespace quarry::emu

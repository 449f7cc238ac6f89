// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace quarry::emu {

/// A word in one of the caches of a cache_machine, or in memory: the last few values that were
/// there, in coherence order.
struct cache_place {
  using index = std::uint32_t; ///< of a version, from the first one on
  using time = std::uint32_t;
  static constexpr index kept = 8;      ///< versions that are remembered
  static constexpr index unknown = ~0U; ///< before the first one
  static constexpr time always = ~0U;
  static constexpr int most_levels = 4; ///< L0, L1, L2, memory
  /// Stale loads of a word in a row, by one actor: then it sees the newest value. A write that is
  /// visible is seen eventually, whatever the strategy (design §4).
  static constexpr std::uint8_t most_stale_in_a_row = 32;

  struct version {
    std::uint64_t value;
    std::uint32_t by;               ///< the caller's tag of the write
    time written;                   ///< when it was written, here or where it came from
    time from;                      ///< when it came to be here
    time until;                     ///< when it was here no longer
    index above;                    ///< the parent's version that it is a copy of, or comes after
    std::uint32_t id : 26;          ///< of the write: copies have the same; 0: memory's first value
    std::uint32_t came_through : 1; ///< it is a copy of what was written farther up from below here
    /// The node level that an update was performed at, else 0: it has read the version before it.
    std::uint32_t update : 2;
    // Once it has gone up late
    std::uint32_t is_behind : 1 = 0; ///< it comes before the parent's version `above` + 1
    std::uint32_t due : 2 = 0;       ///< the node level that it came to by itself
  };

  [[nodiscard]] version& operator[](index i) noexcept { return ring[i % kept]; }
  [[nodiscard]] version const& operator[](index i) const noexcept { return ring[i % kept]; }
  [[nodiscard]] version& newest() noexcept { return (*this)[count - 1]; }
  [[nodiscard]] version const& newest() const noexcept { return (*this)[count - 1]; }
  [[nodiscard]] index oldest() const noexcept { return count > kept ? count - kept : 0; }
  [[nodiscard]] bool remembers(index i) const noexcept { return i < count && i >= oldest(); }
  /// Whether a version of a cache below is a copy of the one that it stands for here.
  [[nodiscard]] bool is_origin_of(version const& below) const noexcept {
    return remembers(below.above) && (*this)[below.above].id == below.id;
  }
  /// The first copy of the write that is remembered, or `unknown`.
  [[nodiscard]] index find_copy(std::uint32_t id) const noexcept;
  /// When the newest version was written, if it is a copy of one from farther up, else 0: what is
  /// written here comes after it there, too. What was written here before is in `dirty_since`.
  [[nodiscard]] time fetched_since() const noexcept;

  std::array<version, kept> ring;
  std::uint32_t execution = 0; ///< in which it was touched
  index count = 0;             ///< versions so far; a leaf has one at a time, while it is dirty
  index least = 0;             ///< the next fetch takes this version of the parent, or a later one
  /// Leaves have fetched these versions past this cache, by node level, and have known them since
  /// then; 0: none has.
  std::array<index, most_levels> passed{};
  time passed_at = 0;
  std::uint32_t given = 0; ///< the write that the parent got last from here
  time dirty_since = 0;    ///< the newest version could have been at the parent since then
  /// What is not there yet is here since then at least: what is released later, by whoever has this
  /// cache on its way, takes it along. See cache_machine::arrival_of().
  time dirty_from = 0;
  time latest = 0;            ///< no version of it was written later
  std::uint8_t lingering = 0; ///< versions before the newest, which updates have overwritten
  index lost = 0; ///< those before it might linger, but do not: there was no room, or more parts
  bool is_dirty = false;     ///< the newest version is not at the parent yet
  bool is_live = false;      ///< the node's list of live words has it; not kept of a leaf
  bool has_released = false; ///< a leaf: its actor, by a write of the word, and by all later ones
  std::uint8_t due = 0;      ///< the node level that it comes to by itself
  std::array<index, most_levels> seen{}; ///< a leaf: loads see this or later, by node level
  std::uint8_t has_seen = 0;             ///< a leaf: a bit for each level in `seen` that counts
  std::uint8_t stale_in_a_row = 0;       ///< a leaf: loads that saw an older value than they could
  std::uint32_t next_holder = ~0U;       ///< the next node in the list of those where it is dirty
};

/// What a load may see.
struct cache_candidate {
  enum class kind : std::uint8_t { version, write_back, delayed } how;
  std::uint8_t level; ///< of the actor's path, where it is found
  bool is_private;    ///< only the actor's own cache may have fetched it: no other knows of it
  bool is_late;       ///< newer than a word on the way that must have been overwritten then
  cache_place::index which; ///< the version, the holder or the actor
  std::uint64_t value;
  bool is_by_chance = false;   ///< an atomic store that would be written back beyond its scope
  bool is_overwritten = false; ///< it was there before what is the newest without it
};

/// The word's places in the caches that it comes through on its way to memory, node level by node
/// level.
struct cache_way {
  std::span<cache_place const* const> places;
  std::uint8_t lowest; ///< the first one's level
  /// Null: nobody wants to know. Set where they remember too little to say that a word may be late.
  bool* left_out = nullptr;

  [[nodiscard]] std::uint8_t level(std::size_t at) const noexcept {
    return static_cast<std::uint8_t>(lowest + at);
  }
};

/// A word that goes up late: it may have come there before what is there now.
struct late_word {
  cache_place::time since; ///< it could have been there since then
  std::uint8_t due;        ///< the node level that it comes to by itself
  std::uint32_t after;     ///< it comes after this write, which came the same way

  /// Whether it may have been at `way.places[at]` before the version `which` was written there. It
  /// comes after what it saw on its way. An update whose scope includes the word, and the other way
  /// round, has read what stood right before it, where it was performed.
  [[nodiscard]] bool may_precede(cache_way way, std::size_t at, cache_place::index which) const;

private:
  [[nodiscard]] bool may_precede_there(cache_way way, std::size_t at,
                                       cache_place::index which) const;
  [[nodiscard]] std::optional<bool> may_be_right_before(cache_way way, std::size_t at,
                                                        cache_place::version const& v) const;
  [[nodiscard]] cache_place::index first_above(cache_place const& below) const;
};

/// Versions from `first` on that were there after `since`, and before `before`; if there is a word
/// that was overwritten, those that it may have come before.
struct cache_window {
  cache_place::index first;
  cache_place::time since;
  cache_place::time before;
  std::optional<late_word> overwritten;
};

} // namespace quarry::emu

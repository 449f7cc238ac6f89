// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache_place.hpp"
#include "cache_places.hpp"
#include "cache_question.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

// What the cache machine consists of: caches, actors and words, each known by its number; and what
// is on its way between them. Private to cache_machine.

namespace quarry::emu {

/// The number of no cache, and of no actor.
inline constexpr std::uint32_t no_number = ~0U;

/// A cache, or memory.
struct cache_node {
  using time = cache_place::time;

  std::uint32_t parent = 0; ///< memory is its own
  /// By level of an ancestor: it may hold what was live there since then.
  std::array<time, cache_place::most_levels> since{};
  std::array<time, cache_place::most_levels> coarse_since{}; ///< for coarse-grained words
  cache_places places;
  std::vector<std::uint32_t> live; ///< what an invalidation has to look at; not kept of a leaf
  std::vector<std::uint32_t> dirty;
  std::vector<std::uint32_t> held; ///< an L2: dirty, too, but coarse-grained
  std::uint8_t level = 0;          ///< 0 a leaf … 3 memory; a host's and a core's leaf are 0, too
  bool is_leaf = false;
};

/// A word, or a line that is kept as one.
struct cache_cell {
  std::uintptr_t at;
  std::uint32_t id;
  std::uint8_t bytes;
  bool is_coarse = false;
  std::uint32_t changes = 0; ///< whenever there is a version, or one on its way, more to be seen
  std::uint32_t first_holder = no_number; ///< a cache in which it is dirty
  std::uint64_t outside = 0; ///< the caller's, for for_each_word(); of a whole line its number
};

/// It takes place before the actor's next write, for what was stored before that time.
struct late_fence {
  std::uint8_t level = 0; ///< of the path; 0: there is none
  cache_place::time since = 0;
};

struct delayed_store {
  std::uint32_t at; ///< a cell
  std::uint64_t value;
  std::uint32_t by;        ///< the write's tag
  cache_place::time since; ///< it could have been performed since then
  std::uint8_t level;      ///< of the path
  bool is_seq_cst;
};

/// By an update, while nobody else has seen that: it has ordered nothing yet.
struct unseen_release {
  std::uint32_t of; ///< a cell
  std::uint32_t id; ///< of the update's write
  cache_place::time since;
  std::uint8_t level;   ///< of the path
  std::uint8_t delayed; ///< so many of the actor's delayed stores come before it
};

struct cache_actor {
  std::array<std::uint32_t, cache_place::most_levels> path{}; ///< from its own cache to memory
  std::uint8_t levels = 0;                                    ///< of the path
  std::array<std::uint8_t, 5> level_of{};                     ///< by scope: position in the path
  std::vector<delayed_store> delayed;                         ///< oldest first
  std::vector<unseen_release> unseen;                         ///< oldest first
  late_fence to_come{};                                       ///< a release
  bool has_fenced = false; ///< a release: what it writes is released
  cache_question asked{};  ///< what it last could not load
  waits_in_vain in_vain;

  [[nodiscard]] bool has_release_to_come() const noexcept {
    return !delayed.empty() || !unseen.empty() || to_come.level != 0;
  }
};

/// Whose releases a write is part of.
struct released_writes {
  static constexpr std::uint32_t several = no_number - 1;

  std::uint32_t by = no_number; ///< an actor; or several, or none
  cache_place::time at = 0;     ///< what it releases was there then; of an unseen one, see
                                ///< cache_machine::forget_unseen()
};

/// A version that an update has overwritten, while loads may still see it.
struct lingering_version {
  std::uint32_t of; ///< a cell
  std::uint32_t at; ///< a cache
  cache_place::index which;
  cache_place::time since; ///< the update
  bool is_before_seq_cst;  ///< a seq_cst load has seen the update: others do, too
};

} // namespace quarry::emu

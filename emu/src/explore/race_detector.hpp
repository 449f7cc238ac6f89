// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "address_ranges.hpp"
#include "line_table.hpp"

#include <quarry/assert.hpp>
#include <quarry/emu/scope.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::emu {

/// Finds accesses that nothing orders, whatever they happened to read.
///
/// To be told of every access, in the order in which they happen in the execution; who goes on, and
/// what a load sees, is the caller's business. Two accesses to overlapping bytes, at least one of
/// which writes, race if neither happens before the other, unless both are atomic and the scope of
/// each includes the other actor. A release synchronises with an acquire that reads from it, or
/// from an update that continues it, if the scope of each includes the other actor; of a fence and
/// its relaxed access the narrower scope counts. seq_cst is acq_rel here.
///
/// Actors are numbered from 0 like those of the cache_machine, and each is a wavefront or a thread
/// by itself: scopes up to `wavefront` include no other actor. `system` includes everybody.
///
/// Shape    up to 65536 actors; reset() costs what was touched; no allocation once warm
/// Source   Hower et al., HRF-indirect, ASPLOS'14 (HRF-direct: see lint_direct()); FastTrack,
///          PLDI'09, differs: a clock's entries are step numbers; design §4
class race_detector {
public:
  using actor_id = std::uint32_t;
  using write_id = std::uint32_t; ///< names an atomic write; 0: the initial value, or a plain write
  using edge = std::uint32_t;

  /// The scope instances that an actor is in. A host is an agent that its threads share, each in a
  /// work-group of its own; a work-group's number is used once in an execution, on its agent.
  struct place {
    std::uint32_t node, agent, work_group, wavefront;
  };
  struct site {
    std::source_location where;
    std::int16_t lane = -1; ///< -1: the actor as a whole
  };
  static constexpr std::int16_t several_lanes = -2;

  struct access {
    enum class kind : std::uint8_t { load, store, update, failed_update, fence };
    actor_id actor = 0;
    kind what = kind::load;
    std::optional<emu::order> order{}; ///< none: plain
    emu::scope scope = emu::scope::work_item;
    std::uintptr_t address = 0;
    unsigned bytes = 0;
    site at{};
    std::uint32_t step = 0; ///< the detector's how-manieth call of the execution, from 1 on
  };

  /// Why two accesses are not ordered.
  enum class missing_edge : std::uint8_t {
    no_synchronisation, ///< the second actor read nothing that the first one wrote after its access
    no_release,
    narrow_release,
    no_acquire,
    narrow_acquire,
    exclusive_scopes, ///< both are atomic, with scopes that do not include each other
    same_instruction, ///< of different lanes of one vector instruction
    different_scopes, ///< lint: ordered, but not through synchronisation of a single scope
    mid_kernel,       ///< coarse-grained memory, and no kernel ended or began between the two
  };

  /// What an operation must be at least.
  struct change {
    missing_edge why;
    access what;
    emu::order order;
    emu::scope scope;
  };

  struct race {
    access first;
    access second;
    missing_edge missing;
    emu::scope scope; ///< the narrowest one that includes both: of a release and an acquire between
    /// Together, these would have ordered the two. Empty where no operation could have.
    std::vector<change> changes;
  };

  /// HRF-direct: also reports what is ordered, but not by synchronisation of one scope throughout,
  /// release and acquire. Slower. Only between executions.
  void lint_direct(bool on);

  /// A new execution. Actors stay where they are.
  void reset();
  /// A new actor, ordered with nobody yet; its number is the next one, or that of one that has
  /// done nothing in this execution and moves. Allowed at any time.
  void add_actor(actor_id a, place where);
  [[nodiscard]] std::size_t actor_count() const noexcept { return actors_.size(); }

  // Accesses, whose kind and step are given here; without an order they are plain. Each gives a
  // race that it is in, if any. They may be of any size and alignment; only atomic ones read from a
  // write, or name one.

  std::optional<race> load(access&& a, write_id read_from);
  std::optional<race> store(access&& a, write_id& id_out);
  /// Atomic.
  std::optional<race> update(access&& a, write_id read_from, bool wrote, write_id& id_out);
  /// Plain accesses by lanes of one instruction that follow each other, of `element` bytes each, to
  /// a whole line of 64. False: nothing was done, they may race; the lanes are to be told of one by
  /// one.
  bool access_line(actor_id a, access::kind kind, std::uintptr_t at, unsigned element,
                   site first_lane);
  /// What the next atomic store, or update that writes, will be called.
  [[nodiscard]] write_id next_write() const noexcept {
    return static_cast<write_id>(writes_.size());
  }
  /// What is read from when some bytes are of one write and some of another; either may be 0.
  [[nodiscard]] write_id join(write_id a, write_id b);
  void fence(actor_id a, order o, scope s);
  void fence(actor_id a, order o, scope s, site where);

  /// The range will hold something else: nobody races with what was done there.
  void forget(std::uintptr_t begin, std::size_t bytes);
  /// Between agents, and between an agent and a host, accesses to the range are ordered only where
  /// a kernel begins or ends; until it is forgotten.
  void coarsen(std::uintptr_t begin, std::size_t bytes) { coarse_.add(begin, bytes); }
  /// The actor is a wavefront, whose kernel begins now: with what it has received.
  void begin_kernel(actor_id a);
  /// Its last step; whoever receives it knows that the kernel has ended.
  [[nodiscard]] edge end_kernel(actor_id a);

  /// A vector instruction begins. Its lanes' accesses, those with a lane until the next one or
  /// until an access without, are not ordered among each other. Lanes are ordered if nobody calls
  /// this.
  void begin_instruction(actor_id a);
  /// The actor does something for lanes, which wait: until lanes_meet() what it does is its own,
  /// and no instruction of theirs.
  void lanes_wait(actor_id a);
  /// Of the lanes since begin_instruction(), those of the mask (bit 0: lane 0) have met: what each
  /// has done until now is ordered before what another one of them does from now on.
  void lanes_meet(actor_id a, std::uint64_t lanes);
  /// A lane has acquired what it has read of a write, or (nothing) of any: if another one has
  /// released since the instruction began, and the write goes back to more than the lane itself, a
  /// new one begins, since lanes have no clocks of their own.
  void lane_acquires(actor_id a, std::int16_t lane, std::optional<write_id> from);
  void lane_releases(actor_id a, std::int16_t lane);

  /// A work-group barrier: everybody's past is before everybody's future. It is an acq_rel fence at
  /// work_group scope, too.
  void meet(std::span<actor_id const> those);
  /// What `a` did so far; whoever receives it comes after that. Neither is a fence: a relaxed
  /// access has nothing from it. The lint takes it for synchronisation of system scope.
  [[nodiscard]] edge signal(actor_id a);
  void receive(actor_id a, edge from);

private:
  using time = std::uint32_t; ///< a step
  static constexpr std::uint32_t none = ~0U;
  /// Work-group, agent, system: those that can include two actors.
  static constexpr std::size_t scope_count = 3;

  /// An access's kind, order and scope.
  struct manner {
    std::uint8_t kind : 2 = 0;
    std::uint8_t order : 3 = 0; ///< 7: plain
    std::uint8_t scope : 3 = 0;
    [[nodiscard]] bool writes() const noexcept {
      return race_detector::writes(static_cast<access::kind>(kind));
    }
    [[nodiscard]] bool is_atomic() const noexcept { return order != 7; }
    bool operator==(manner const&) const = default;
  };
  /// How an access stands to an earlier one.
  enum class relation : std::uint8_t { ordered, harmless, same_instruction, racing, indirect };
  /// Who does what with which bytes of a word: eight bytes, to be compared at once.
  struct deed {
    std::uint16_t actor = 0;
    std::int16_t lane = 0;
    std::uint16_t bytes = 0;
    std::uint8_t mask = 0;
    manner how{};
  };
  /// An access to some bytes of a word, which no later one stands for.
  struct mark {
    time at;
    std::uint32_t next;
    std::uintptr_t address;
    std::source_location where;
    deed what;
  };
  static constexpr std::size_t line_words = 8;
  static constexpr std::uintptr_t line_bytes = 8 * line_words;
  /// A place in the hash table; in use if its generation is the execution's.
  struct line {
    std::uintptr_t number; ///< address / 64
    std::uint32_t generation = 0;
    std::uint32_t whole; ///< mark of all of it: of its first lane, at the first one's step
    std::array<std::uint32_t, line_words> first; ///< mark of each word

    void begin() noexcept {
      whole = none;
      first.fill(none);
    }
  };
  /// A release that can be acquired from a write.
  struct head {
    time at;
    std::uint32_t clock;
    std::uint16_t actor;
    emu::scope scope;
  };
  struct write {
    time at;
    std::uint32_t clock; ///< the writer's, at the write
    write_id read_from;  ///< an update's: what it continues
    std::uint32_t first_head;
    std::uintptr_t address;
    std::source_location where;
    std::uint16_t actor;
    std::uint16_t head_count;
    std::int16_t lane;
    std::uint8_t bytes;
    manner how;
    bool has_gap;   ///< it continues a write that is no release
    bool is_of_two; ///< joined from writes of two lanes, or of two actors
  };
  /// A load of something whose past it did not make known: for reports.
  struct weak_read {
    write_id from;
    time at;
    std::uintptr_t address;
    std::source_location where;
    std::uint16_t actor;
    std::int16_t lane;
    std::uint8_t bytes;
    manner how;
  };
  struct past_fence {
    time at = 0;
    std::uint32_t clock = 0;
    std::source_location where{};
    std::uint16_t actor = 0;
    std::int16_t lane = -1;
    manner how{};
  };
  /// Of an item kernel's lanes.
  struct lane_meetings {
    bool is_any = false;         ///< since the present instruction began
    std::array<time, 64> last{}; ///< of each lane; 0: none since then
    // As it was at lanes_wait()
    bool is_waiting = false;
    bool was_any = false;
    time instruction = none;
    std::int16_t released_by = -1;
  };
  struct actor {
    place where;
    time instruction = none;       ///< where the present one began
    std::int16_t released_by = -1; ///< a lane since then, or several_lanes
    std::uint32_t clock = none;    ///< the copy of it that still holds
    std::unique_ptr<lane_meetings> meetings{};
    bool has_acted = false;
    bool is_kernel = false;
    std::uint32_t begun = none; ///< a kernel: the copy of its clock from where it began
    time ended = 0;             ///< a kernel: its last step
    std::uint8_t pending = 0;   ///< a bit for each scope: an acquire fence would join something
    std::array<time, scope_count> released_at{}; ///< the last release fence of each scope
    std::array<std::uint32_t, scope_count> released_clock{};
    std::size_t last_weak = 0; ///< the count of weak reads at its last one; 0: it has none
  };
  /// An actor's clocks. Of `joinable`, `direct` and the rest there is one for each scope.
  struct row {
    static constexpr std::size_t known = 0;    ///< what happened before, by actor
    static constexpr std::size_t joinable = 1; ///< what an acquire fence would make known
    static constexpr std::size_t count = joinable + scope_count;
    // The lint's
    static constexpr std::size_t direct = count;                       ///< through this scope alone
    static constexpr std::size_t joinable_from = direct + scope_count; ///< by this scope or wider
    static constexpr std::size_t joinable_only = joinable_from + scope_count; ///< by exactly this
    static constexpr std::size_t direct_count = joinable_only + scope_count;
  };
  class diagnosis; // race_diagnosis.cpp

  static constexpr bool writes(access::kind k) noexcept {
    return k == access::kind::store || k == access::kind::update;
  }
  static constexpr std::size_t index(emu::scope s) noexcept {
    return static_cast<std::size_t>(s) - static_cast<std::size_t>(emu::scope::work_group);
  }
  static inline manner pack(access const& a) noexcept;
  static inline deed deed_of(access const& a, std::uint8_t mask) noexcept;
  static inline void set_mark(mark& m, access const& a, std::uint8_t mask) noexcept;
  [[nodiscard]] emu::scope level(actor_id a, actor_id b) const noexcept;
  [[nodiscard]] time* clock(actor_id a, std::size_t which) noexcept {
    return rows_.data() + a * actor_stride_ + which * stride_;
  }
  [[nodiscard]] time const* clock(actor_id a, std::size_t which) const noexcept {
    return rows_.data() + a * actor_stride_ + which * stride_;
  }
  [[nodiscard]] std::size_t row_count() const noexcept {
    return is_direct_ ? row::direct_count : row::count;
  }
  [[nodiscard]] bool knows(actor_id a, actor_id whom, time at) const noexcept {
    return a == whom || clock(a, row::known)[whom] >= at;
  }
  /// Did the copied clock's owner know?
  [[nodiscard]] bool knew(std::uint32_t copy, actor_id whom, time at) const noexcept {
    return whom < copies_[copy] && copies_[copy + 1 + whom] >= at;
  }

  void activate(actor_id a, std::int16_t lane);
  inline void begin(access& a, access::kind what);
  /// Whatever the one lane has done before that comes before what the other one does now.
  [[nodiscard]] inline time ordered_since(actor_id a, std::int16_t lane,
                                          std::int16_t other) const noexcept;
  void resize_rows(std::size_t actors);
  std::uint32_t copy_clock(actor_id a);
  void join(time* to, std::uint32_t copy, std::size_t which) const noexcept;
  void learn(actor_id a, head const& h);
  void acquire(access const& a, order o, write_id from);
  bool take(access const& a, order o, head const& h);
  void take_directly(access const& a, order o, head const& h);
  void remember(access const& a, write_id from);
  write_id publish(access const& a, order o, write_id read_from);
  void add_heads(write& w, bool is_release);
  void add_head(std::size_t first, head const& h);
  void acquire_fence(actor_id a, emu::scope s);
  void release_fence(actor_id a, emu::scope s);

  std::optional<race> check(access const& a);
  inline void check_word(access const& a, std::uintptr_t number, std::uint8_t mask);
  void check_words(access const& a);
  [[nodiscard]] inline bool goes_on(access const& a);
  inline bool goes_on(std::uint32_t& first, access const& a, std::uint8_t mask);
  void compare_all(std::uint32_t& first, access const& a, std::uint8_t mask);
  inline bool compare(mark& m, access const& a, std::uint8_t mask);
  inline std::uint32_t take_mark();
  inline void drop_mark(std::uint32_t& link) noexcept;
  inline void add_mark(std::uint32_t& first, access const& a, std::uint8_t mask);
  [[nodiscard]] bool is_coarse(std::uintptr_t line) const noexcept;
  inline bool goes_on(line& l, access const& a);
  [[nodiscard]] inline bool follows(std::uint32_t& first, access const& a) noexcept;
  void split(line& l);
  void split(line& l, mark const& whole);
  [[nodiscard]] inline relation relate(mark const& m, access const& a) const noexcept;
  [[nodiscard]] inline bool conflicts(mark const& m, access const& a) const noexcept;
  [[nodiscard]] bool is_mid_kernel(mark const& m, access const& a) const noexcept;
  [[nodiscard]] inline bool stands_for(access const& a, mark const& m) const noexcept;
  void forget(line& l, std::uintptr_t begin, std::uintptr_t end);
  void forget_bytes(std::uint32_t& first, std::uint8_t mask);

  [[nodiscard]] race explain(mark const& m, access const& a, bool is_lint) const;

  bool is_direct_ = false;
  address_ranges coarse_;
  time now_ = 0;
  std::size_t stride_ = 0;       ///< of rows
  std::size_t actor_stride_ = 0; ///< of actors: of all their rows
  std::vector<actor> actors_;
  std::vector<actor_id> active_; ///< who has acted
  std::vector<time> rows_;       ///< by actor, then by row, then by whom
  std::vector<time> copies_;     ///< of clocks: a length, `known`, and the lint's `direct`
  std::size_t copied_ = 0;       ///< how much of that is in use
  std::vector<head> heads_;
  std::vector<write> writes_{1};
  struct joined {
    write_id a, b, both;
  };
  std::array<joined, 16> joined_{}; ///< the last ones: who spins reads from the same two again
  std::vector<head> edges_;
  line_table<line> lines_;
  std::vector<mark> marks_;
  std::uint32_t free_mark_ = none;
  std::optional<race> found_; ///< of the access that is checked
  // The last few of each, for reports
  static constexpr std::size_t kept = 4096;
  std::vector<weak_read> weak_reads_;
  std::size_t weak_read_count_ = 0;
  std::vector<past_fence> fences_;
  std::size_t fence_count_ = 0;
};

/// Everything that is kept of an actor until the next reset() comes after this.
inline void race_detector::activate(actor_id a, std::int16_t lane) {
  QUARRY_ASSERT(a < actors_.size());
  actor& self = actors_[a];
  if (!self.has_acted) {
    self.has_acted = true;
    active_.push_back(a);
  }
  if (lane == -1)
    self.instruction = none;
}

/// Both have met somebody since: by way of others, perhaps. (Lanes have no clocks of their own.)
inline race_detector::time race_detector::ordered_since(actor_id a, std::int16_t lane,
                                                        std::int16_t other) const noexcept {
  actor const& self = actors_[a];
  if (self.meetings == nullptr || !self.meetings->is_any) [[likely]]
    return self.instruction;
  auto const last_met = [&](std::int16_t l) {
    return l < 0 ? none : self.meetings->last[static_cast<std::size_t>(l)]; // several: nobody knows
  };
  return std::max(self.instruction, std::min(last_met(lane), last_met(other)));
}

/// "no release", "release too narrow", …
[[nodiscard]] std::string_view to_string(race_detector::missing_edge m) noexcept;

/// Several lines: both accesses, what is missing between them and where, and what would do.
/// `address_name` gives an address its name, if it has one; `more`, lines to stand below an access.
[[nodiscard]] std::string
to_string(race_detector::race const& r,
          std::function<std::string(race_detector::actor_id)> const& name_of,
          std::function<std::string(std::uintptr_t)> const& address_name = {},
          std::function<std::string(race_detector::access const&)> const& more = {});

} // namespace quarry::emu

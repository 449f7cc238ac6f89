// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/fault.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/lane_mask.hpp>
#include <quarry/emu/wavefront.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <source_location>
#include <string>
#include <type_traits>

namespace quarry::emu {

/// Which sync a part of a function comes after.
template<std::uint32_t Number>
using sync_number = std::integral_constant<std::uint32_t, Number>;
using first_sync = sync_number<1>;
using second_sync = sync_number<2>;

/// Has a call anything to return? `using result = no_result;` where what it computes lies in
/// memory.
struct no_result {};

/// How often a function syncs: it says `static constexpr std::uint32_t syncs`; otherwise once.
template<class F>
inline constexpr std::uint32_t syncs_of = 1;
template<class F>
  requires requires { F::syncs; }
inline constexpr std::uint32_t syncs_of<F> = F::syncs;

/// A function for cilk<F>: its arguments are its members, its parts are operator()(auto& call), up
/// to the first sync, and after_sync(auto& call, sync_number<…>).
template<class F>
concept cilk_function = std::is_trivially_copyable_v<F> && std::is_class_v<F> &&
                        std::is_trivially_copyable_v<typename F::result> && requires {
                          { F::most_spawned } -> std::convertible_to<std::uint32_t>;
                        };

/// A function that runs its leaves, the calls that spawn nothing, many at a time: the wavefront
/// gives it those of its lanes, and it has a lane for each, from lane 0 on. They do not come to
/// operator()(auto& call), and have no result.
///
///     [[nodiscard]] bool is_leaf() const;
///     static void run_leaves(any_wavefront auto& wf, std::span<F const> calls);
template<class F>
concept has_leaves = requires(F const& f) {
  { f.is_leaf() } -> std::same_as<bool>;
};

/// What the lanes of a function have done; counted under deterministic schedulers (thesis Figure
/// 4-17: divergence).
struct cilk_counts {
  std::uint64_t spawning = 0; ///< parts that spawned
  std::uint64_t leaves = 0;   ///< parts that did not
  std::uint64_t waves = 0;    ///< times that a wavefront ran some of them side by side
  std::uint64_t diverged = 0; ///< of which had lanes of both kinds

  /// A wavefront has run some.
  void add(lane_mask spawned, lane_mask ended) noexcept {
    spawning += static_cast<std::uint64_t>(spawned.count());
    leaves += static_cast<std::uint64_t>(ended.count());
    ++waves;
    diverged += spawned.any() && ended.any() ? 1 : 0;
  }
};

/// A call of the last level has spawned.
[[nodiscard]] inline kernel_stop
cilk_too_deep(std::uint32_t levels, std::source_location where = std::source_location::current()) {
  return {fault::kind::wrong_shape,
          "cilk: the recursion is deeper than its " + std::to_string(levels) + " levels", where};
}

/// A call asks for what none of its children has returned.
[[nodiscard]] inline kernel_stop
cilk_no_such_child(std::uint32_t child, std::uint32_t count,
                   std::source_location where = std::source_location::current()) {
  return {fault::kind::wrong_shape,
          "cilk: the result of child " + std::to_string(child) + " of a call after whose sync " +
              "there are " + std::to_string(count),
          where};
}

/// What lies in the channels of a function.
template<cilk_function F>
struct cilk_parts {
  static constexpr std::uint32_t syncs = syncs_of<F>;
  static constexpr std::uint32_t most_spawned = F::most_spawned;
  using result = typename F::result;
  static constexpr bool has_result = !std::is_empty_v<result>;
  using place = global<result>; ///< where a call's result goes

  /// A call that has been spawned.
  struct spawned {
    F function;
    place into;
  };
  /// A call that goes on after a sync, and what its children write to it meanwhile.
  struct synced {
    spawned call;
    std::uint32_t count; ///< children
    std::array<result, has_result ? most_spawned : 1> results;
  };
};

/// Room for values that are written before they are read; none is made here, which would take a
/// wavefront longer than to run its lanes.
template<class T, std::size_t Size>
class unwritten_array {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return at(bytes_)[i]; }
  [[nodiscard]] T const& operator[](std::size_t i) const noexcept { return at(bytes_)[i]; }

private:
  // An array of bytes has whatever trivially copyable objects one takes it for.
  static T* at(std::byte* b) noexcept { return std::launder(reinterpret_cast<T*>(b)); }
  static T const* at(std::byte const* b) noexcept {
    return std::launder(reinterpret_cast<T const*>(b));
  }
  alignas(T) std::byte bytes_[sizeof(T) * Size];
};

/// What one wavefront has to put into channels: calls in the order in which they were spawned, and
/// who spawned them. At most `most_calls` of them at a time; the lanes that find it full go later.
template<cilk_function F, int Size>
struct cilk_piece {
  using function = F;
  using parts = cilk_parts<F>;
  static constexpr std::uint32_t most_calls =
      std::max<std::uint32_t>(2 * Size, parts::most_spawned);
  struct parent {
    typename parts::spawned call;
    std::uint32_t count;
    bool syncs; ///< it goes on after them
  };
  std::uint32_t calls = 0;
  std::uint32_t parents = 0;
  std::uint32_t syncs = 0; ///< of those parents
  // Only what is counted has been written.
  unwritten_array<F, most_calls> call;
  unwritten_array<parent, Size> spawner;
};

/// What a part of a function sees of its call, on one lane: what it spawns goes to a piece; results
/// are in memory or, those that a wavefront keeps to itself, behind pointers.
template<class Piece, any_wavefront W, class Place, bool SyncsAgain = true>
class cilk_call {
  using function = typename Piece::function;
  using parts = cilk_parts<function>;

public:
  cilk_call(W& wf, Piece& to, Place into, std::uint32_t children, Place results,
            std::bool_constant<SyncsAgain> = {}) noexcept
      : wf_(wf), to_(to), into_(into), results_(results), children_(children), first_(to.calls) {}
  cilk_call(cilk_call const&) = delete;
  cilk_call& operator=(cilk_call const&) = delete;

  /// Spawns a call, which has ended before after_sync() is called.
  ///
  /// Errors   fault wrong_shape – more than F::most_spawned in one part; by a function with a
  ///          result, after its last sync
  void spawn(function const& child, std::source_location where = std::source_location::current()) {
    if constexpr (parts::has_result && !SyncsAgain)
      throw kernel_stop{fault::kind::wrong_shape,
                        "cilk: a call is spawned after the last of the " +
                            std::to_string(parts::syncs) +
                            " syncs that F::syncs allows: nobody takes what it returns",
                        where};
    if (to_.calls - first_ == parts::most_spawned) [[unlikely]]
      throw kernel_stop{fault::kind::wrong_shape,
                        "cilk: more than the " + std::to_string(parts::most_spawned) +
                            " calls that F::most_spawned allows are spawned at once",
                        where};
    to_.call[to_.calls++] = child;
  }
  /// Nothing is left to do after what this part spawns: only the caller waits for it.
  void finishes() noexcept {
    static_assert(!parts::has_result, "a call with a result goes on after its children");
    has_finished_ = true;
  }
  /// What this call returns to its parent.
  void returns(typename parts::result const& value) {
    if constexpr (std::is_pointer_v<Place>)
      *into_ = value;
    else
      wf_.store(into_, value);
  }
  /// After a sync: children that were spawned before it, and what they have returned.
  ///
  /// Errors   fault wrong_shape – there are not so many
  [[nodiscard]] std::uint32_t children() const noexcept { return children_; }
  [[nodiscard]] typename parts::result operator[](std::uint32_t child) const {
    if (child >= children_) [[unlikely]]
      throw cilk_no_such_child(child, children_);
    if constexpr (std::is_pointer_v<Place>)
      return results_[child];
    else
      return wf_.load(results_ + child);
  }
  /// Memory, for load(), store() and atomic operations on single elements.
  [[nodiscard]] W& memory() noexcept { return wf_; }

  /// How many it has spawned.
  [[nodiscard]] std::uint32_t spawned() const noexcept { return to_.calls - first_; }
  [[nodiscard]] bool has_finished() const noexcept { return has_finished_; }

private:
  W& wf_;
  Piece& to_;
  Place into_;
  Place results_;
  std::uint32_t children_;
  std::uint32_t first_;
  bool has_finished_ = false;
};

} // namespace quarry::emu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace quarry {

class actor;
class strand;

// What a debugger finds its way by: plain lists of what exists anyway, linked when it comes and
// unlinked when it goes, never while it runs. A debugger reads them in a stopped process or a core
// file, without calling anything, and without debug information of the library: every struct here
// has the layout that its declaration says, and changes only together with debug_root::abi_version.

/// A list linked by its elements' `next` and `previous`. Not thread-safe.
template<class Node>
struct debug_list {
  Node* first = nullptr;
  Node* last = nullptr;

  void push_back(Node& n) noexcept {
    n.next = nullptr;
    n.previous = last;
    (last == nullptr ? first : last->next) = &n;
    last = &n;
  }
  void remove(Node& n) noexcept {
    (n.previous == nullptr ? first : n.previous->next) = n.next;
    (n.next == nullptr ? last : n.next->previous) = n.previous;
  }
};

/// An actor that is no wavefront.
struct debug_actor {
  debug_actor* next = nullptr;
  debug_actor* previous = nullptr;
  actor* self = nullptr;
  char const* name = "";
};

struct debug_strand {
  debug_strand* next = nullptr;
  debug_strand* previous = nullptr;
  strand* self = nullptr;
  char const* name = "";
  debug_list<debug_actor> actors; ///< those that were spawned and are not done
};

/// A scheduler.
struct debug_executor {
  debug_executor* next = nullptr;
  debug_executor* previous = nullptr;
  char const* kind = "executor";
  debug_list<debug_strand> strands;
  // Deterministic schedulers only:
  debug_list<debug_actor> hosts;            ///< the functions given to run()
  actor* const* current = nullptr;          ///< whose slice runs
  std::uint64_t const* decisions = nullptr; ///< taken so far in this execution
  std::uint64_t executions = 0;             ///< begun so far
};

/// What the debugger asks for. It writes this while the program is stopped; deterministic
/// schedulers look at it where they decide, so that going to the millionth decision is fast.
struct debug_filter {
  std::uint32_t volatile is_armed = 0;
  std::uint32_t volatile actor = 0;     ///< actor::number: stop where it decides, waits or ends
  std::uint64_t volatile execution = 0; ///< only in this one, from 1 on; 0: in any
  std::uint64_t volatile decision = 0;  ///< stop before this decision, from 1 on; 0: at any
  std::uint32_t volatile noted = 0;     ///< whose last decision to remember in `noted_decision`
  std::uint32_t unused = 0;
  std::uint64_t noted_decision = 0;
  std::uint64_t volatile address =
      0;                            ///< stop where anybody accesses one of so many bytes from here
  std::uint64_t volatile bytes = 0; ///< 0: no access
};

/// Why quarry_debug_stop() was called.
enum class debug_reason : std::uint32_t {
  none,
  decision, ///< the actor is about to read or write memory
  choice,   ///< no actor runs: the next one is chosen
  waits,    ///< the actor has begun to wait, or given way
  ended,    ///< the actor's root task has ended
  access,   ///< the actor is about to access what debug_filter::address names; it has decided
};

/// Where a debugger finds what in types that are not plain: offsets in bytes.
struct debug_layout {
  std::uint32_t actor_leaf;   ///< innermost frame
  std::uint32_t actor_state;  ///< actor_state, a byte
  std::uint32_t actor_reason; ///< {char const* what; std::source_location where; void const* on; …}
  std::uint32_t actor_fiber;  ///< execution_fiber*, which points to where its registers are saved
  std::uint32_t actor_number;
  std::uint32_t promise_self; ///< actor*
  std::uint32_t promise_continuation;
  std::uint32_t promise_awaits_at; ///< std::source_location
};

/// The debugger's way in: the symbol `quarry_debug_root`.
struct debug_root {
  static constexpr std::uint32_t version = 2;
  std::uint32_t abi_version = version;
  std::uint32_t bytes = sizeof(debug_root);
  debug_list<debug_executor> executors;
  debug_layout layout;
  debug_filter filter;
  // Of the last quarry_debug_stop():
  debug_reason why = debug_reason::none;
  std::uint32_t unused = 0;
  debug_executor* where = nullptr;
  actor* who = nullptr;       ///< null for a choice
  std::uint64_t decision = 0; ///< the one that comes next
  // Of the last quarry_debug_failure():
  char const* failure_kind = "";
  char const* failure_where = "";
};

extern "C" {
/// The one object that is process-wide: debuggers start at symbols.
extern debug_root quarry_debug_root; // NOLINT(*-non-const-global-variables)
/// Does nothing. Called where debug_root::filter says, for a breakpoint.
void quarry_debug_stop();
/// The same, where an explored execution is found to be wrong: still in the middle of it.
void quarry_debug_failure();
}

/// Adds to and removes from the root's list. From any thread.
void announce(debug_executor& e);
void withdraw(debug_executor& e) noexcept;

// Deterministic schedulers call these if something is asked for.

[[nodiscard]] inline bool debugger_asks() noexcept {
  return quarry_debug_root.filter.is_armed != 0;
}
/// `who` (null: a choice between slices) is about to take decision number `decision`.
void debug_decision(debug_executor& e, actor* who, std::uint64_t decision);
/// `who` has decided, and accesses memory.
void debug_access(debug_executor& e, actor& who, void const* at, std::size_t bytes);
/// A slice of `who` has ended.
void debug_slice_end(debug_executor& e, actor& who, std::uint64_t decision);

/// An execution has failed; the words live as long as the execution. Called by who finds it.
void debug_failure(char const* kind, char const* where);

} // namespace quarry

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <source_location>
#include <string>

namespace quarry {

class actor;
class execution_fiber;
class strand;

/// What an actor is doing.
enum class actor_state : std::uint8_t {
  ready,   ///< may go on as soon as its strand gets to it
  running, ///< on a processor now
  waiting, ///< until somebody makes it ready
  polling, ///< until its poll function says yes
  done,    ///< its root task has returned or thrown
};

/// What a waiting actor waits for: a row of the deadlock and stall reports. Of one that is ready:
/// where it has waited, or given way.
struct wait_reason {
  char const* what = "";        ///< "barrier", "event", "wait_until", …; a string literal
  std::source_location where{}; ///< of the co_await
  void const* on = nullptr;     ///< the awaited object or address, if there is one
  /// Who must act before the wait can end, when that is known (the holder of a mutex): makes cycles
  /// visible in reports. Read while the actor waits.
  std::atomic<actor const*> const* owner = nullptr;
};

/// Anything with a program order of its own: a wavefront, a command-processor core, a host thread,
/// a network interface. A root task with a name and, while it waits, what it waits for.
///
/// An actor belongs to one strand for life. Everything in it is touched only by the thread that
/// runs the strand at the moment; others go through strand::make_ready().
class actor {
public:
  actor() = default;
  actor(actor const&) = delete;
  actor& operator=(actor const&) = delete;
  virtual ~actor();

  /// A name for reports: "wavefront 3 of group 7", "network interface of pe 2".
  [[nodiscard]] virtual std::string name() const = 0;

  /// Called by the strand once, after the root task has returned or thrown. May destroy the actor.
  virtual void on_done() noexcept = 0;

  /// Called when somebody has made this actor ready, on its strand. Who should run then: itself, or
  /// the actor that it is a part of (a lane's wavefront). Null if that one is on its way already.
  [[nodiscard]] virtual actor* on_ready() noexcept { return this; }

  /// Runs a slice, in the schedulers that run every actor on a fiber: a plain function may suspend
  /// the fiber. On return the state says why the slice ended.
  virtual void run() { resume(); }

  /// The innermost frame: the one that the trampoline resumes next. Null once the root has
  /// returned.
  std::coroutine_handle<> leaf;
  /// What the root task threw.
  std::exception_ptr error;
  strand* home = nullptr;

  actor_state state = actor_state::ready;
  /// Set when the execution is given up: the next decision point throws `abandoned`.
  bool is_abandoned = false;

  /// Asked while the state is `polling`; a function of `poll_argument` and of memory, without
  /// effects. Must not throw.
  bool (*poll)(void*) = nullptr;
  void* poll_argument = nullptr;
  /// Who is resumed by another actor, as a lane by its wavefront, is asked this after `poll`, when
  /// it is about to go on; with effects. False: somebody else was faster, it polls again. Null: it
  /// takes nothing.
  bool (*take)(void*) = nullptr;
  wait_reason reason;

  /// The fiber it runs on, in the schedulers that run every actor on one; null in `native`.
  execution_fiber* fiber = nullptr;
  /// By order of first being ready in this execution, from 1 on; deterministic schedulers only.
  std::uint32_t number = 0;
  /// Links the actor into exactly one list of whoever will make it ready, or of its strand.
  actor* next = nullptr;

  /// Suspends until somebody calls strand::make_ready(). From await_suspend() only.
  ///
  /// First this, then tell whoever will wake the actor: from then on only the strand touches it. A
  /// waker on another thread merely puts it into the inbox of the strand, which is still running
  /// it.
  void wait_for(char const* what, std::source_location where, void const* on = nullptr,
                std::atomic<actor const*> const* owner = nullptr) noexcept {
    state = actor_state::waiting;
    reason = {what, where, on, owner};
  }

  /// Suspends until `ask(argument)` says yes. From await_suspend() only; `argument` outlives the
  /// wait.
  void poll_for(char const* what, std::source_location where, void const* on, bool (*ask)(void*),
                void* argument) noexcept {
    state = actor_state::polling;
    reason = {what, where, on, nullptr};
    poll = ask;
    poll_argument = argument;
    take = nullptr;
  }

  /// It does what others may do, too, and only the first one counts: says to a scheduler that
  /// searches that the order matters.
  void tell_all_of_it() noexcept {
    if (fiber != nullptr)
      tell_all();
  }
  /// Before it takes what others may want, too (a mutex): somebody else may go on here, where a
  /// scheduler decides.
  ///
  /// Throws `abandoned`
  void before_taking() {
    if (fiber == nullptr)
      return;
    decide();
    tell_all();
  }
  /// It has got it without a wait: somebody else may go on here, where a scheduler decides.
  ///
  /// Throws `abandoned`
  void after_taking() {
    if (fiber != nullptr)
      decide();
  }

  /// Suspends to the end of the strand's queue. From await_suspend() only.
  void stay_ready(char const* what, std::source_location where) noexcept {
    state = actor_state::ready;
    reason = {what, where};
  }

  /// Runs the actor to its next suspension: the trampoline that every co_await of a task returns
  /// to, so that neither nesting nor completion grows the native stack on any compiler.
  void resume() {
    state = actor_state::running;
    do {
      leaf.resume();
      if (state != actor_state::running)
        return;
    } while (leaf);
    state = actor_state::done;
  }

private:
  void tell_all() noexcept;
  void decide();
};

/// Thrown once by the decision point of an actor whose execution was given up, to unwind it.
/// A kernel must not catch it.
struct abandoned {};

} // namespace quarry

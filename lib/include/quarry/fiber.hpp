// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace quarry {

/// A stack of its own, for plain functions that must be able to wait.
///
/// resume() and suspend() pair like call and return. Between them the fiber may be left from any
/// depth of fibers that run on top of it: `suspend()` on an outer fiber, called from an inner one,
/// saves the inner one and comes back to it. Switches are announced to ASan and TSan, and every
/// fiber has its own exception state (__cxa_get_globals), without which a catch may find another's
/// exception.
///
/// A fiber is resumed by one thread at a time, not always the same one. One fiber may hand over to
/// another, as if it had suspended and the other one had been resumed: half the way.
///
/// Shape    stack 256 KiB (1 MiB without optimisation or under a sanitizer), with a guard page
/// Errors   std::bad_alloc when the stack cannot be mapped
class execution_fiber {
public:
  execution_fiber();
  execution_fiber(execution_fiber const&) = delete;
  execution_fiber& operator=(execution_fiber const&) = delete;
  /// The fiber must be idle; one that never came back is leaked with its stack, and counted.
  ~execution_fiber();

  /// Gives the idle fiber something to run at the next resume(). `job` must not throw.
  void start(void (*job)(void*), void* argument) noexcept;

  /// Runs the job to its end or to its next suspend(). Called from outside the fiber. True if it
  /// is idle now.
  bool resume();

  /// Leaves for whoever called resume(). Called from inside the fiber, or from a fiber on top of
  /// it.
  void suspend();

  /// Leaves for another fiber, that is suspended or has something to start. Whoever called
  /// resume() is gone back to when that one suspends, or comes to its job's end, and asks them
  /// which of them is idle. Called like suspend(); returns when this one is resumed, or switched
  /// to.
  void switch_to(execution_fiber& next);

  /// True when no job is started, or the last one has returned.
  [[nodiscard]] bool is_idle() const noexcept;

  /// How many stacks are mapped in this process now, those of leaked fibers among them. Any thread
  /// may ask.
  [[nodiscard]] static std::size_t mapped_count() noexcept;

private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Fibers that are created once and reused: mapping a guarded stack costs 10 us. Not thread-safe.
class fiber_pool {
public:
  fiber_pool();
  fiber_pool(fiber_pool const&) = delete;
  fiber_pool& operator=(fiber_pool const&) = delete;
  ~fiber_pool();

  /// An idle fiber, lent until give_back().
  [[nodiscard]] execution_fiber& take();
  void give_back(execution_fiber& fiber) noexcept;

  /// take() makes none.
  [[nodiscard]] bool has_idle() const noexcept;

  /// How many fibers were ever created.
  [[nodiscard]] std::size_t created_count() const noexcept;

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace quarry

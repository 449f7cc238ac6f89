// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/strand.hpp>
#include <quarry/task.hpp>
#include <quarry/wait_queue.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace quarry {

class executor;

/// Children that end before their parent goes on: starts tasks as actors, on any strands, and joins
/// them all. What came before start() comes before the child, which comes before the end of join():
/// also in device memory under `explore`, at system scope.
///
/// Who starts children must join() or wait() before the nursery dies. Where an exception leaves the
/// parent's frame, or it is destroyed where it stands, as a wavefront of a launch that has failed,
/// its children on its own strand go with it. Others stay behind; that is right only where they
/// will never run again, as when a deadlocked execution is destroyed. One that comes to its end all
/// the same aborts the process with its name, unless wait() has already reported a stall. Under
/// `explore` they go, too, and the nursery's death is the failure, `misuse`.
class nursery {
public:
  nursery();
  nursery(nursery const&) = delete;
  nursery& operator=(nursery const&) = delete;
  ~nursery();

  /// Runs `child` as an actor of `s` from now on. From any thread.
  void start(strand& s, task<> child, std::string name);

  class joining;
  /// Waits until no child is left; the children's frames are gone by then. Children may be started
  /// again afterwards.
  ///
  /// Errors   the first exception that a child threw and nobody has heard of, for the first who
  ///          joins; the others still ended
  [[nodiscard]] joining join(std::source_location where = std::source_location::current()) noexcept;

  /// join() for a host thread: runs actors on it meanwhile. The executor is that of the children.
  ///
  /// Errors   as join(); stall_error – the children do not come to an end; says what one of them
  ///          has thrown
  void wait(executor& children_run_on,
            std::source_location where = std::source_location::current());

private:
  struct state;
  class link;
  static task<> run(link parent, task<> child, std::uint32_t begun);

  std::shared_ptr<state> state_;
  int thrown_before_; ///< exceptions that were on their way when it was made
};

/// What join() returns: to be awaited at once.
class nursery::joining {
public:
  joining(nursery& n, std::source_location where) noexcept : nursery_(n), where_(where) {}

  bool await_ready() const noexcept { return false; }
  template<task_promise P>
  bool await_suspend(std::coroutine_handle<P> caller) noexcept {
    return enlist(*caller.promise().self);
  }
  void await_resume() const;

private:
  bool enlist(actor& self) noexcept;

  nursery& nursery_;
  executor* executor_ = nullptr; ///< of who joins
  std::source_location where_;
  wait_place place_;
};

inline nursery::joining nursery::join(std::source_location where) noexcept {
  return {*this, where};
}

} // namespace quarry

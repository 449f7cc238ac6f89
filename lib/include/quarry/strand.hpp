// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/actor.hpp>
#include <quarry/report.hpp>
#include <quarry/task.hpp>

#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace quarry {

class executor;

/// A place whose actors never run at the same moment: a compute unit, a host thread, a network
/// interface. What belongs to one strand needs no locks; different strands run in parallel.
///
/// A strand with nothing ready and nobody polling costs nothing. Destroy it only when no actor of
/// it is alive and its executor runs it no more (executor::run_until() has returned).
class strand {
public:
  strand(executor& executor, std::string name);
  strand(strand const&) = delete;
  strand& operator=(strand const&) = delete;
  virtual ~strand();

  /// Lets a waiting actor of this strand go on. From any thread; at most once per wait.
  void make_ready(actor& a);

  /// Starts `root` as an actor of its own, which deletes itself when it is done. From any thread.
  /// What the root throws ends the process through std::terminate: a nursery catches it.
  void spawn(task<> root, std::string name);

  /// What one turn of a strand came to.
  struct turn {
    bool progressed; ///< something ran that a failed poll did not cause
    bool again;      ///< something is ready or polling: give it another turn
  };
  /// Runs ready actors for a bounded number of slices; asks the polling ones. `native` only, one
  /// thread at a time.
  virtual turn drain();

  /// Adds a row for each of its actors. Not while it is drained.
  virtual void describe(report& into) const;

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] executor& owner() const noexcept { return executor_; }

protected:
  /// What became ready since the last call, oldest first, linked by actor::next.
  actor* take_inbox() noexcept;
  /// Marks the strand as not scheduled, unless somebody has just made an actor ready.
  bool try_to_idle() noexcept;
  [[nodiscard]] bool has_inbox() const noexcept {
    return inbox_.load(std::memory_order_relaxed) != nullptr;
  }

private:
  friend class executor;
  friend class native_scheduler;
  void after_slice(actor& a);
  bool ask_the_polling();

  executor& executor_;
  std::string name_;
  std::atomic<actor*> inbox_{nullptr};
  std::atomic<bool> is_scheduled_{false}; ///< in the executor's queue, or being drained
  std::atomic<bool> is_drained_{false};   ///< held while it runs, and while a report reads it
  std::deque<actor*> ready_;
  std::vector<actor*> polling_;
  mutable std::mutex spawned_mutex_;
  std::vector<actor*> spawned_; ///< roots of spawn() that are not done; any thread may spawn
  friend class spawned_actor;
};

} // namespace quarry

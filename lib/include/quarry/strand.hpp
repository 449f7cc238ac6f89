// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/actor.hpp>
#include <quarry/actor_list.hpp>
#include <quarry/debug_root.hpp>
#include <quarry/report.hpp>
#include <quarry/task.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace quarry {

class executor;
class spawned_actor;

/// A place whose actors never run at the same moment: a compute unit, a host thread, a network
/// interface. What belongs to one strand needs no locks; different strands run in parallel.
///
/// A strand with nothing ready and nobody polling costs nothing.
///
/// The destructor waits until no thread runs the strand, and destroys spawned actors that are not
/// done (after a deadlock, say). Actors of other makes must be gone, nobody may wake or spawn any
/// more, and an actor of the strand must not destroy it. A derived class that overrides drain() or
/// describe() calls retire() first thing in its own destructor.
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
  ///
  /// `family`: what cancel() knows it by; null: it is never cancelled.
  void spawn(task<> root, std::string name, void const* family = nullptr);
  /// Destroys the frames of all that were spawned with `family`, wherever they are, but for one
  /// that runs; gives how many they were. By whoever runs the strand.
  std::size_t cancel(void const* family);
  /// One of those that cancel() would destroy, by name; empty: there is none.
  [[nodiscard]] std::string name_of_one(void const* family);
  /// Destroys all that were spawned on any strand of `e`, whose execution is given up, and are not
  /// done, the youngest first. When nobody runs them.
  static void destroy_spawned_of(executor& e);

  /// What one turn of a strand came to.
  struct turn {
    bool progressed; ///< something ran that a failed poll did not cause
    bool again;      ///< something is ready or polling: give it another turn
  };
  /// Runs ready actors for a bounded number of slices, and asks the polling ones at least once.
  /// `native` only, one thread at a time.
  virtual turn drain();

  /// Adds a row for each that was spawned; a derived class, for its own. Not while it is drained.
  virtual void describe(report& into) const;

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] executor& owner() const noexcept { return executor_; }
  /// Whether the calling thread destroys frames of its actors that have not come to their ends.
  [[nodiscard]] bool is_let_go_of_here() const noexcept;
  /// The same of any strand's.
  [[nodiscard]] static bool lets_go_here() noexcept;

protected:
  /// While it lives, is_let_go_of_here().
  class letting_go {
  public:
    explicit letting_go(strand const& s) noexcept;
    letting_go(letting_go const&) = delete;
    letting_go& operator=(letting_go const&) = delete;
    ~letting_go();

  private:
    strand const* outer_;
  };
  /// Destroys all that were spawned and are not done. When nobody runs the strand.
  void destroy_spawned();
  /// They stay where they are for good, and nobody knows of them any more; gives them.
  std::vector<actor*> keep_spawned();

  /// For debuggers: actors of a derived class's own. Not while anybody spawns.
  void list(debug_actor& a) noexcept { debug_.actors.push_back(a); }
  void unlist(debug_actor& a) noexcept { debug_.actors.remove(a); }

  /// Takes the strand from its executor; on return no thread runs it, or will. May be called twice.
  void retire() noexcept;

  /// What became ready since the last call, oldest first, linked by actor::next.
  actor* take_inbox() noexcept;
  /// Marks the strand as not scheduled, unless somebody has just made an actor ready or posted the
  /// strand: then it needs another turn. The last thing that drain() does.
  bool try_to_idle() noexcept;
  /// Whether take_inbox() has something.
  [[nodiscard]] bool has_inbox() const noexcept {
    return inbox_.load(std::memory_order_relaxed) > flags;
  }

  // For a drain() that knows its own actors: the others in the inbox, which somebody has spawned

  /// run_others() will run it.
  void run_later(actor& a) {
    a.state = actor_state::ready;
    ready_.push_back(a);
  }
  /// After all that take_inbox() gave has been looked at, and those that are abandoned left alone:
  /// nobody knows of those that were cancelled any more.
  void bury_cancelled() noexcept;
  /// Runs them for a bounded number of slices, and asks the polling ones. True if any ran.
  bool run_others();
  /// Whether it is to be called again.
  [[nodiscard]] bool has_others() const noexcept { return !ready_.is_empty() || !polling_.empty(); }

private:
  void make_ready_what_came();
  template<class Condition>
  std::vector<spawned_actor*> spawned(Condition is_meant);
  std::vector<spawned_actor*> cancellable(void const* family);
  static std::vector<spawned_actor*> youngest_first(std::span<strand* const> these);
  static void destroy_spawned_of(std::span<strand* const> these);
  friend class executor;
  friend class native_scheduler;
  friend class spawned_actor;
  void after_slice(actor& a);
  bool ask_the_polling();
  bool push(actor& a) noexcept;
  bool schedule() noexcept;
  /// By the thread that holds is_drained_.
  void begin_or_end_turn() noexcept {
    // Release: pairs with the acquire in executor::turns_under_way().
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  executor& executor_;
  std::string name_;
  /// The newest of a list of actors, and two flags beside it. One word, so that a waker touches the
  /// strand once: the actor that it wakes may run and end the strand.
  std::atomic<std::uintptr_t> inbox_{is_idle};
  static constexpr std::uintptr_t is_idle = 1;         ///< not in the executor's queue, nor drained
  static constexpr std::uintptr_t is_posted_again = 2; ///< wants a turn after the present one
  static constexpr std::uintptr_t flags = is_idle | is_posted_again;
  bool wants_turn_ = false;             ///< is_posted_again was set when the inbox was taken
  std::atomic<bool> is_drained_{false}; ///< held while it runs, and while a report reads it
  std::atomic<unsigned> holder_count_{
      0};                               ///< threads that are about to run it, or have just done so
  std::atomic<std::uint64_t> turns_{0}; ///< beginnings and ends: odd in the middle of a turn
  bool is_retired_ = false;
  bool is_queued_ = false; ///< by a native scheduler, between these two
  strand* queued_before_ = nullptr;
  strand* queued_behind_ = nullptr;
  actor_list ready_;
  std::vector<actor*> polling_;
  std::vector<actor*> cancelled_;    ///< without frames; one that was woken may be in the inbox
  mutable std::mutex spawned_mutex_; ///< guards debug_.actors: any thread may spawn
  debug_strand debug_;               ///< holds the list of spawned actors that are not done
};

} // namespace quarry
